#include "config/command_line.h"

#include <algorithm>

#include "core/format.h"

namespace trireme::config {
namespace {

using megatron::Takes;

bool is_option(const std::string& argument) {
  return argument.rfind("--", 0) == 0;
}

class Splitter {
 public:
  Splitter(std::span<const std::string> arguments, const Names& names, const Field* positional,
           Reading& reading)
      : arguments_(arguments), names_(names), positional_(positional), reading_(reading) {}

  void split() {
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
    if (!bare_.empty()) {
      add(*positional_, [&] { return positional_->from_words(bare_, source_); });
    }
  }

 private:
  void option(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    Words words;
    const bool attached = equals != std::string::npos;
    if (attached) words.push_back(text.substr(equals + 1));
    const Names::Meaning meant = names_.meaning(name);
    const Field* const field = meant.field;
    last_ = field;
    if (field == nullptr) {
      if (!attached) words = words_behind(meant.takes);
      reading_.add_stranger(names_, name, words, source_);
    } else if (meant.off && attached) {
      reading_.add_trouble({.where = source_.text(),
                            .what = format("--{} was given '{}'", name, words.front()),
                            .rule = "it takes no value (a flag)"});
    } else if (meant.off) {
      add(*field, [] { return false; });
    } else {
      if (!attached) words = words_behind(words_of(*field));
      add(*field, [&] { return field->from_words(words, source_); });
    }
  }

  // The next arguments up to an option, as many as may be taken.
  Words words_behind(Takes takes) {
    Words words;
    while (takes != Takes::nothing && next_ < arguments_.size() && !is_option(arguments_[next_])) {
      words.push_back(arguments_[next_++]);
      if (takes == Takes::one) break;
    }
    return words;
  }

  void bare(const std::string& argument, bool behind_dashes) {
    const bool plain = behind_dashes || argument == "-" || argument.rfind('-', 0) != 0;
    if (positional_ != nullptr && plain) {
      bare_.push_back(argument);
      return;
    }
    Words words = {argument};
    Trouble trouble = {.where = source_.text(),
                       .rule = "options begin with two dashes",
                       .remedy = "--help lists all options"};
    const Field* meant = argument[0] == '-' ? names_.find(argument.substr(1)) : nullptr;
    if (meant != nullptr) {
      (void)words_behind(words_of(*meant));
      trouble.remedy = format("write -{}", argument);
    } else {
      for (std::string& word : words_behind(Takes::several)) words.push_back(std::move(word));
      if (last_ != nullptr && last_->kind != Kind::list) {
        trouble.rule = format("--{} takes {}", last_->name,
                              last_->kind == Kind::flag ? last_->takes() : "one value");
        trouble.remedy = "remove it, or quote a value with spaces";
      }
    }
    trouble.what =
        format("'{}' belong{} to no option", fmt::join(words, "' '"), words.size() == 1 ? "s" : "");
    reading_.add_trouble(std::move(trouble));
  }

  template <class Convert>
  void add(const Field& field, Convert&& convert) {
    if (reading_.find(field) == nullptr) {
      reading_.add(field, source_, convert);
      return;
    }
    Trouble trouble = {.where = source_.text(),
                       .what = format("--{} is given twice", field.name),
                       .rule = "each option is given at most once",
                       .remedy = "remove one of them"};
    if (field.positional) {
      trouble.rule = "arguments without dashes count as --" + field.name;
    } else if (!field.aliases.empty()) {
      trouble.rule = format("it is called --{} too", fmt::join(field.aliases, ", --"));
    }
    reading_.add_trouble(std::move(trouble));
  }

  std::span<const std::string> arguments_;
  const Names& names_;
  const Field* positional_;
  Reading& reading_;
  const Source source_ = {};
  size_t next_ = 0;
  const Field* last_ = nullptr;  // the option in front of a bare argument
  Words bare_;
};

}  // namespace

void read_command_line(std::span<const std::string> arguments, const Names& names,
                       const Field* positional, Reading& reading) {
  Splitter(arguments, names, positional, reading).split();
}

bool asks_for_help(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--help" || argument == "-h") return true;
  }
  return false;
}

}  // namespace trireme::config
