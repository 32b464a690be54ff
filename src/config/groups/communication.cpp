#include "config/groups/communication.h"

namespace trireme::config {

const Group& CommunicationOptions::group() {
  using O = CommunicationOptions;
  static const Group table = {
      "Communication",
      "how ranks are numbered, and how they exchange data; changes no result",
      {
          field(&O::use_tp_pp_dp_mapping,
                {.name = "use-tp-pp-dp-mapping",
                 .help = "number the ranks with the pipeline before the data: t fastest, then p, "
                         "then d, instead of t, d, p"}),
          field(&O::overlap_grad_reduce,
                {.name = "overlap-grad-reduce",
                 .help = "add the data-parallel ranks' gradients bucket by bucket, while the last "
                         "backward of a batch still computes; otherwise behind it"}),
          field(&O::ddp_bucket_size,
                {.name = "ddp-bucket-size",
                 .help = "gradients that data-parallel ranks add at once: 1048576 are 4 MiB",
                 .unit = "parameters",
                 .range = between(1, int64_t{1} << 40)}),
          field(&O::scatter_gather_tensors_in_pipeline,
                {.name = "scatter-gather-tensors-in-pipeline",
                 .help = "of t tensor-parallel ranks each sends the t-th part of what goes to the "
                         "next stage, where they gather it (SC'21 section 4.1)",
                 .otherwise = "on where the ranks are on more hosts than one"}),
      }};
  return table;
}

}  // namespace trireme::config
