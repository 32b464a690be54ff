#include "config/command_line.h"

#include <algorithm>

#include "core/format.h"

namespace trireme::config {
namespace {

bool is_option(const std::string& argument) {
  return argument.rfind("--", 0) == 0;
}

// A flag's name behind "no-"; nullptr for every other name.
const Field* negated(std::string_view name, const FieldIndex& known) {
  const std::string dashed = normalised(name);
  if (dashed.rfind("no-", 0) != 0) return nullptr;
  const Field* field = known.find(dashed.substr(3));
  return field != nullptr && field->kind == Kind::flag ? field : nullptr;
}

class Splitter {
 public:
  Splitter(std::span<const std::string> arguments, const FieldIndex& known, const Field* positional)
      : arguments_(arguments), known_(known), positional_(positional) {}

  std::vector<Said> split() {
    while (next_ < arguments_.size()) {
      const std::string& argument = arguments_[next_++];
      if (argument == "--") {
        while (next_ < arguments_.size()) bare(arguments_[next_++], true);
      } else if (is_option(argument)) {
        option(argument.substr(2));
      } else {
        bare(argument, false);
      }
    }
    if (!bare_.empty()) add(*positional_, positional_->from_words(bare_, source_));
    return std::move(said_);
  }

 private:
  void option(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const bool attached = equals != std::string::npos;
    const Field* field = known_.find(name);
    if (field == nullptr) {
      if (const Field* flag = negated(name, known_); flag != nullptr && !attached) {
        last_ = flag;
        add(*flag, false);
        return;
      }
      known_.unknown(name, source_);
    }
    Words words;
    if (attached) words.push_back(text.substr(equals + 1));
    if (!attached && field->kind != Kind::flag) {
      const bool list = field->kind == Kind::list;
      while (next_ < arguments_.size() && !is_option(arguments_[next_])) {
        words.push_back(arguments_[next_++]);
        if (!list) break;
      }
    }
    last_ = field;
    add(*field, field->from_words(words, source_));
  }

  void bare(const std::string& argument, bool behind_dashes) {
    const bool plain = behind_dashes || argument == "-" || argument.rfind('-', 0) != 0;
    if (positional_ != nullptr && plain) {
      bare_.push_back(argument);
      return;
    }
    Trouble trouble = {.where = source_.text(),
                       .what = format("'{}' belongs to no option", argument),
                       .rule = "options begin with two dashes",
                       .remedy = "--help lists all options"};
    if (argument.size() > 1 && argument[0] == '-' && known_.find(argument.substr(1)) != nullptr) {
      trouble.remedy = format("write -{}", argument);
    } else if (last_ != nullptr && last_->kind != Kind::list) {
      trouble.rule = format("--{} takes {}", last_->name,
                            last_->kind == Kind::flag ? last_->takes() : "one value");
      trouble.remedy = "remove it, or quote a value with spaces";
    }
    fail_usage(trouble);
  }

  void add(const Field& field, Value value) {
    const bool twice = std::any_of(said_.begin(), said_.end(),
                                   [&](const Said& said) { return said.field == &field; });
    if (twice) {
      fail_usage({.where = source_.text(),
                  .what = format("--{} is given twice", field.name),
                  .rule = field.positional ? "arguments without dashes count as --" + field.name
                                           : "each option is given at most once",
                  .remedy = "remove one of them"});
    }
    said_.push_back({&field, std::move(value), source_});
  }

  std::span<const std::string> arguments_;
  const FieldIndex& known_;
  const Field* positional_;
  const Source source_ = {};
  size_t next_ = 0;
  const Field* last_ = nullptr;  // the option in front of a bare argument
  Words bare_;
  std::vector<Said> said_;
};

}  // namespace

std::vector<Said> said_on_command_line(std::span<const std::string> arguments,
                                       const FieldIndex& known, const Field* positional) {
  return Splitter(arguments, known, positional).split();
}

bool asks_for_help(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--help" || argument == "-h") return true;
  }
  return false;
}

}  // namespace trireme::config
