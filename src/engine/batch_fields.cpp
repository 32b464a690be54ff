#include "engine/batch_fields.h"

namespace trireme::engine {

using program::BatchField;

void write_fields(Session& session, MicrobatchId microbatch, const data::BatchFields& fields) {
  session.write_field<int32_t>(BatchField::tokens, microbatch, fields.tokens);
  session.write_field<int32_t>(BatchField::labels, microbatch, fields.labels);
  session.write_field<float>(BatchField::loss_mask, microbatch, fields.loss_mask);
  session.write_field<int32_t>(BatchField::positions, microbatch, fields.positions);
  session.write_field<int32_t>(BatchField::segment_starts, microbatch, fields.segment_starts);
  session.write_field<int64_t>(BatchField::samples, microbatch, fields.sample_positions);
}

}  // namespace trireme::engine
