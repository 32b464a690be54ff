#pragma once
#include <span>
#include <string>

#include "app/command.h"

namespace trireme::app {

/// What `trireme options` prints; each Markdown page is a file of docs/ and tested to be equal to
/// it.
enum class Page { options, megatron, environment };
enum class PageForm { text, markdown, json };

/// A page about these subcommands. Ends with a newline.
[[nodiscard]] std::string page_text(Page page, PageForm form, std::span<const Command> commands);

}  // namespace trireme::app
