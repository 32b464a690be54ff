#pragma once
// For the tests of this room: what a file system may have kept when the power went.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/disk.h"
#include "checkpoint/test_folder.h"
#include "core/error.h"

namespace trireme::checkpoint {

/// Thrown where a test stops a save, in the manner of a kill: nothing that follows does anything.
struct Stopped {};

/// How a crash treats what was not made durable.
enum class Loss {
  nothing,   ///< a killed process: the file system lives on
  all,       ///< power cut, nothing of it had reached the disk
  at_random  ///< power cut, any part of it had, in any order; files are cut or hold zeros
};

/// A folder as a value: paths within it, files with their content, folders with a slash behind.
using Tree = std::map<Path, std::string>;

inline void write_tree(const Tree& tree, const Path& root) {
  for (const auto& [path, content] : tree) {
    if (path.has_filename()) {
      replace_file(root / path, content);
    } else {
      std::filesystem::create_directories(root / path);
    }
  }
}

/// Passes every call on to the machine's disk, numbers it, and keeps beside it a model of what is
/// durable: file contents as of the last finish(), folder entries as of the last sync_folder().
/// Call `stop_at` throws Stopped, as all later ones do; call `fail_at` throws an error as from a
/// full disk, later ones work; from call `full_from` on nothing can be written, only removed;
/// from call `gone_from` on every call fails.
/// Several threads may use it.
class SimulatedDisk final : public Disk {
 public:
  struct Faults {
    int stop_at = -1;
    int fail_at = -1;
    int full_from = -1;
    int gone_from = -1;
    bool exchanges = true;  ///< whether the file system knows how to exchange names
  };

  /// root: an existing folder, all of it durable.
  SimulatedDisk(const Path& root, Faults faults) : root_(root), faults_(faults) {
    top_ = load(root);
  }

  [[nodiscard]] int calls() const { return calls_; }
  /// The next process: counts anew, under other faults. What is not durable yet stays so.
  void next_process(Faults faults) {
    faults_ = faults;
    calls_ = 0;
  }

  /// What the root may hold after a crash.
  [[nodiscard]] Tree crash(Loss loss, std::mt19937& random) const {
    Tree tree;
    survive(*top_, loss, random, {}, tree);
    return tree;
  }

  std::unique_ptr<DiskFile> create(const Path& path) override {
    const std::lock_guard lock(mutex_);
    count(path);
    auto node = std::make_shared<Node>();
    change(path.parent_path(), {{path.filename(), node}});
    return std::make_unique<File>(*this, path, node, system_disk().create(path));
  }
  void create_folder(const Path& path) override {
    const std::lock_guard lock(mutex_);
    count(path);
    system_disk().create_folder(path);
    auto node = std::make_shared<Node>();
    node->is_folder = true;
    change(path.parent_path(), {{path.filename(), node}});
  }
  void sync_folder(const Path& path) override {
    const std::lock_guard lock(mutex_);
    count(path, false);
    Node& folder = *find(path);
    folder.durable_entries = folder.entries;
    folder.pending.clear();
  }
  void rename(const Path& from, const Path& to) override {
    const std::lock_guard lock(mutex_);
    count(from);
    system_disk().rename(from, to);
    change(root_, {{to.filename(), find(from)}, {from.filename(), nullptr}});
  }
  bool exchange(const Path& a, const Path& b) override {
    const std::lock_guard lock(mutex_);
    count(a);
    if (!faults_.exchanges || !system_disk().exchange(a, b)) return false;
    change(root_, {{a.filename(), find(b)}, {b.filename(), find(a)}});
    return true;
  }
  void remove_all(const Path& path) override {
    const std::lock_guard lock(mutex_);
    count(path, false);
    system_disk().remove_all(path);
    Node& folder = *find(path.parent_path());
    const auto found = folder.entries.find(path.filename());
    if (found == folder.entries.end()) return;
    empty(*found->second);
    change(path.parent_path(), {{path.filename(), nullptr}});
  }

 private:
  struct Node;
  using Entries = std::map<std::string, std::shared_ptr<Node>>;
  /// Entries that change in one step; null: removed.
  using Change = std::vector<std::pair<std::string, std::shared_ptr<Node>>>;
  struct Node {
    bool is_folder = false;
    std::string content = {};
    std::string durable_content = {};
    Entries entries = {};
    Entries durable_entries = {};
    std::vector<Change> pending = {};
  };

  class File final : public DiskFile {
   public:
    File(SimulatedDisk& disk, Path path, std::shared_ptr<Node> node, std::unique_ptr<DiskFile> file)
        : disk_(disk), path_(std::move(path)), node_(std::move(node)), file_(std::move(file)) {}
    void write(std::span<const std::byte> bytes) override {
      const std::lock_guard lock(disk_.mutex_);
      disk_.count(path_);
      file_->write(bytes);
      node_->content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    void finish() override {
      const std::lock_guard lock(disk_.mutex_);
      disk_.count(path_);
      file_->finish();
      node_->durable_content = node_->content;
    }

   private:
    SimulatedDisk& disk_;
    Path path_;
    std::shared_ptr<Node> node_;
    std::unique_ptr<DiskFile> file_;
  };

  void count(const Path& path, bool takes_room = true) {
    const int call = calls_++;
    if (faults_.stop_at >= 0 && call >= faults_.stop_at) throw Stopped{};
    if (faults_.gone_from >= 0 && call >= faults_.gone_from) fail_path("use", path, EIO);
    const bool full = takes_room && faults_.full_from >= 0 && call >= faults_.full_from;
    if (call == faults_.fail_at || full) fail_path("write", path, ENOSPC);
  }

  std::shared_ptr<Node> find(const Path& path) const {
    if (path == root_) return top_;
    return find(path.parent_path())->entries.at(path.filename());
  }

  static void apply(Entries& entries, const Change& change) {
    for (const auto& [name, node] : change) {
      if (node) {
        entries[name] = node;
      } else {
        entries.erase(name);
      }
    }
  }

  void change(const Path& folder, Change change) {
    Node& node = *find(folder);
    apply(node.entries, change);
    node.pending.push_back(std::move(change));
  }

  static void empty(Node& node) {
    for (const auto& [name, child] : node.entries) {
      empty(*child);
      node.pending.push_back({{name, nullptr}});
    }
    node.entries.clear();
  }

  static std::shared_ptr<Node> load(const Path& path) {
    auto node = std::make_shared<Node>();
    node->is_folder = std::filesystem::is_directory(path);
    if (!node->is_folder) {
      node->content = node->durable_content = read_file(path);
      return node;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path))
      node->entries[entry.path().filename()] = load(entry.path());
    node->durable_entries = node->entries;
    return node;
  }

  static void survive(const Node& node, Loss loss, std::mt19937& random, const Path& path,
                      Tree& tree) {
    const auto chance = [&] { return random() % 2 == 0; };
    if (!node.is_folder) {
      std::string content = loss == Loss::nothing ? node.content : node.durable_content;
      if (loss == Loss::at_random && node.content != node.durable_content && chance()) {
        content = node.content.substr(0, random() % (node.content.size() + 1));
        if (chance()) content.resize(node.content.size(), '\0');
      }
      tree[path] = content;
      return;
    }
    Entries entries = loss == Loss::nothing ? node.entries : node.durable_entries;
    if (loss == Loss::at_random) {
      for (const Change& change : node.pending) {
        if (chance()) apply(entries, change);
      }
    }
    tree[path / ""] = "";
    for (const auto& [name, child] : entries) survive(*child, loss, random, path / name, tree);
  }

  Path root_;
  Faults faults_;
  std::mutex mutex_;
  int calls_ = 0;
  std::shared_ptr<Node> top_;
};

/// The states that a crash may leave, each once. Temporary names are passed over in the comparison:
/// readers do not look at them.
class Crashes {
 public:
  explicit Crashes(uint32_t seed) : random_(seed) {}

  /// Up to `count` states that were not seen before.
  std::vector<Tree> fresh(const SimulatedDisk& disk, int count) {
    std::vector<Tree> states;
    for (int i = 0; i < count; ++i) {
      const Loss loss = i == 0 ? Loss::nothing : i == 1 ? Loss::all : Loss::at_random;
      Tree state = disk.crash(loss, random_);
      Tree visible = state;
      for (auto entry = visible.begin(); entry != visible.end();) {
        const bool temporary = entry->first.string().find(".tmp-") != std::string::npos;
        entry = temporary ? visible.erase(entry) : std::next(entry);
      }
      if (seen_.insert(std::move(visible)).second) states.push_back(std::move(state));
    }
    return states;
  }
  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_;
  std::set<Tree> seen_;
};

}  // namespace trireme::checkpoint
