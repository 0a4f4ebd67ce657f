#include "graph.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "launch.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "trace.hpp"

namespace gfx906::rt {
namespace {

std::atomic<uint64_t> next_node_id{1};

template <class T>
struct Live {
  std::mutex mutex;
  std::unordered_set<const T*> set;
  bool has(const T* handle) {
    const std::lock_guard lock(mutex);
    return set.count(handle) == 1;
  }
  void add(const T* handle) {
    const std::lock_guard lock(mutex);
    set.insert(handle);
  }
  bool remove(const T* handle) {
    const std::lock_guard lock(mutex);
    return set.erase(handle) == 1;
  }
};
Live<Graph>& live_graphs() {
  static auto* live = new Live<Graph>;
  return *live;
}
Live<GraphExec>& live_execs() {
  static auto* live = new Live<GraphExec>;
  return *live;
}
Live<GraphNode>& live_nodes() {
  static auto* live = new Live<GraphNode>;
  return *live;
}

}  // namespace

std::mutex& capture_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
bool is_graph(const Graph* graph) {
  return live_graphs().has(graph);
}
void add_graph(Graph* graph) {
  live_graphs().add(graph);
}
bool remove_graph(Graph* graph) {
  return live_graphs().remove(graph);
}
bool is_exec(const GraphExec* exec) {
  return live_execs().has(exec);
}
void add_exec(GraphExec* exec) {
  live_execs().add(exec);
}
bool remove_exec(GraphExec* exec) {
  return live_execs().remove(exec);
}
bool is_node(const GraphNode* node) {
  return live_nodes().has(node);
}

Graph::~Graph() {
  for (const auto& node : nodes) live_nodes().remove(node.get());
  for (auto& [object, count] : user_objects) {
    object->references -= count;
    if (object->references <= 0) {
      object->destroy(object->pointer);
      delete object;
    }
  }
  for (void* block : memory) free_memory(block);
}

GraphNode* Graph::add(std::shared_ptr<Work> work, const std::vector<GraphNode*>& needs) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->work = std::move(work);
  node->id = next_node_id++;
  GraphNode* made = node.get();
  nodes.push_back(std::move(node));
  live_nodes().add(made);
  for (GraphNode* need : needs) connect(need, made);
  return made;
}

bool Graph::connect(GraphNode* from, GraphNode* to) {
  if (std::find(to->needs.begin(), to->needs.end(), from) != to->needs.end()) return false;
  to->needs.push_back(from);
  from->feeds.push_back(to);
  return true;
}

bool Graph::disconnect(GraphNode* from, GraphNode* to) {
  return std::erase(to->needs, from) + std::erase(from->feeds, to) == 2;
}

void Graph::remove(GraphNode* node) {
  for (GraphNode* n : node->needs) std::erase(n->feeds, node);
  for (GraphNode* n : node->feeds) std::erase(n->needs, node);
  live_nodes().remove(node);
  std::erase_if(nodes, [node](const auto& owned) { return owned.get() == node; });
}

bool Graph::contains(const GraphNode* node) const {
  return is_node(node) && node->graph == this;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  for (const auto& node : nodes) copy->cloned_from[node.get()] = copy->add(node->work->clone(), {});
  for (const auto& node : nodes) {
    for (const GraphNode* need : node->needs)
      copy->connect(copy->cloned_from[need], copy->cloned_from[node.get()]);
  }
  return copy;
}

std::vector<GraphNode*> Graph::order() const {
  std::vector<GraphNode*> sorted;
  std::unordered_map<const GraphNode*, size_t> missing;
  // Smallest creation number first among the ready ones: the order in which a capture saw them.
  std::set<std::pair<uint64_t, GraphNode*>> ready;
  for (const auto& node : nodes) {
    missing[node.get()] = node->needs.size();
    if (node->needs.empty()) ready.insert({node->id, node.get()});
  }
  while (!ready.empty()) {
    GraphNode* node = ready.begin()->second;
    ready.erase(ready.begin());
    sorted.push_back(node);
    for (GraphNode* next : node->feeds) {
      if (--missing[next] == 0) ready.insert({next->id, next});
    }
  }
  if (sorted.size() != nodes.size()) sorted.clear();
  return sorted;
}

namespace {

struct Flat {
  const GraphNode* origin;
  std::shared_ptr<Work> work;
  std::vector<size_t> needs;
};

// Appends a graph's nodes in order; a child graph's nodes take its node's place. Returns false on a
// cycle. `outer` are the indices that the graph's roots come behind; `leaves` gets those of its
// last nodes.
bool flatten(const Graph& graph, const std::vector<size_t>& outer, std::vector<Flat>& flat,
             std::vector<size_t>& leaves) {
  const std::vector<GraphNode*> order = graph.order();
  if (order.empty() && !graph.nodes.empty()) return false;
  std::unordered_map<const GraphNode*, std::vector<size_t>> ends;
  if (order.empty()) leaves = outer;
  for (const GraphNode* node : order) {
    std::vector<size_t> needs = node->needs.empty() ? outer : std::vector<size_t>{};
    for (const GraphNode* need : node->needs) {
      const auto& e = ends[need];
      needs.insert(needs.end(), e.begin(), e.end());
    }
    if (node->work->type() == hipGraphNodeTypeGraph) {
      std::vector<size_t> inner;
      if (!flatten(*static_cast<const ChildGraphWork&>(*node->work).graph, needs, flat, inner))
        return false;
      ends[node] = inner;
    } else {
      flat.push_back({node, node->work, std::move(needs)});
      ends[node] = {flat.size() - 1};
    }
    if (node->feeds.empty()) leaves.insert(leaves.end(), ends[node].begin(), ends[node].end());
  }
  return true;
}

}  // namespace

hipError_t GraphExec::make(const Graph& graph, unsigned long long flags,
                           std::unique_ptr<GraphExec>& exec) {
  std::vector<Flat> flat;
  std::vector<size_t> leaves;
  if (!flatten(graph, {}, flat, leaves)) return hipErrorInvalidValue;
  auto made = std::make_unique<GraphExec>();
  made->flags = flags;
  // The works are shared with the graph but never changed in place: setters put a changed copy
  // there.
  for (Flat& f : flat)
    made->nodes_.push_back({f.origin, std::move(f.work), std::move(f.needs), 0, true});
  made->assign_lanes();
  exec = std::move(made);
  return hipSuccess;
}

// A node goes on in the lane of a need that nobody has followed yet; otherwise it opens a lane of
// its own.
void GraphExec::assign_lanes() {
  std::vector<bool> followed(nodes_.size(), false);
  bool first_taken = false;
  lane_count_ = 1;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    bool placed = false;
    for (const size_t need : node.needs) {
      if (followed[need]) continue;
      followed[need] = placed = true;
      node.lane = nodes_[need].lane;
      break;
    }
    if (placed) continue;
    node.lane = first_taken ? lane_count_++ : 0;
    first_taken = true;
  }
}

GraphExec::~GraphExec() {
  for (Stream* lane : lanes_) {
    if (lane != nullptr) Stream::destroy(lane);
  }
}

Ticket GraphExec::push_node(Node& node, Stream& stream, std::vector<Ticket> waits) {
  std::shared_ptr<Work> work = node.enabled ? node.work : std::make_shared<EmptyWork>();
  work->in_graph = true;
  if (!node.enabled) work->card = node.work->card;
  if (node.enabled && work->type() == hipGraphNodeTypeEventRecord) {
    auto copy = std::make_shared<EventRecordWork>(static_cast<EventRecordWork&>(*work));
    copy->record = std::make_shared<EventRecord>();
    if (!Event::alive(copy->event))
      return stream.push(std::make_shared<EmptyWork>(), std::move(waits), 0);
    const std::lock_guard lock(copy->event->mutex);
    copy->event->record = copy->record;
    copy->record->ticket = stream.push(copy, std::move(waits), 0);
    return copy->record->ticket;
  }
  if (node.enabled && work->type() == hipGraphNodeTypeWaitEvent) {
    Event* event = static_cast<EventWaitWork&>(*work).event;
    if (Event::alive(event)) {
      const std::lock_guard lock(event->mutex);
      if (event->record) waits.push_back(event->record->ticket);
    }
  }
  return stream.push(std::move(work), std::move(waits), kGraphNodeIssueSeconds);
}

hipError_t GraphExec::launch(Stream& stream) {
  const std::lock_guard lock(mutex_);
  lanes_.resize(std::max(lanes_.size(), lane_count_), nullptr);
  auto marker = [&] {
    auto work = std::make_shared<EmptyWork>();
    work->card = stream.card().index();
    return work;
  };
  const Ticket begin = stream.push(marker());
  std::vector<Ticket> done(nodes_.size());
  std::vector<Ticket> tails(lane_count_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    Stream* target = &stream;
    if (node.lane != 0) {
      Stream*& lane = lanes_[node.lane];
      if (lane == nullptr)
        lane = Stream::create(*card(node.work->card), hipStreamNonBlocking, 0, false);
      target = lane;
    }
    std::vector<Ticket> waits;
    for (const size_t need : node.needs) {
      if (nodes_[need].lane != node.lane) waits.push_back(done[need]);
    }
    if (node.needs.empty() && node.lane != 0) waits.push_back(begin);
    done[i] = push_node(node, *target, std::move(waits));
    tails[node.lane] = done[i];
  }
  tails[0] = {};
  if (lane_count_ > 1) stream.push(marker(), std::move(tails), 0);
  return hipSuccess;
}

hipGraphExecUpdateResult GraphExec::update(const Graph& graph, GraphNode*& offender) {
  std::vector<Flat> flat;
  std::vector<size_t> leaves;
  offender = nullptr;
  const std::lock_guard lock(mutex_);
  if (!flatten(graph, {}, flat, leaves) || flat.size() != nodes_.size()) {
    return hipGraphExecUpdateErrorTopologyChanged;
  }
  for (size_t i = 0; i < flat.size(); ++i) {
    offender = const_cast<GraphNode*>(flat[i].origin);
    if (flat[i].needs != nodes_[i].needs) return hipGraphExecUpdateErrorTopologyChanged;
    if (flat[i].work->type() != nodes_[i].work->type())
      return hipGraphExecUpdateErrorNodeTypeChanged;
    if (flat[i].work->card != nodes_[i].work->card) return hipGraphExecUpdateErrorParametersChanged;
  }
  offender = nullptr;
  for (size_t i = 0; i < flat.size(); ++i) nodes_[i].work = flat[i].work;
  return hipGraphExecUpdateSuccess;
}

hipError_t GraphExec::replace(const GraphNode* node, std::shared_ptr<Work> work) {
  const std::lock_guard lock(mutex_);
  for (Node& n : nodes_) {
    if (n.origin != node) continue;
    if (n.work->type() != work->type()) return hipErrorInvalidValue;
    n.work = std::move(work);
    return hipSuccess;
  }
  return hipErrorInvalidValue;
}

std::shared_ptr<Work> GraphExec::work_of(const GraphNode* node) const {
  const std::lock_guard lock(mutex_);
  for (const Node& n : nodes_) {
    if (n.origin == node) return n.work;
  }
  return nullptr;
}

hipError_t GraphExec::set_enabled(const GraphNode* node, bool enabled) {
  const std::lock_guard lock(mutex_);
  for (Node& n : nodes_) {
    if (n.origin != node) continue;
    n.enabled = enabled;
    return hipSuccess;
  }
  return hipErrorInvalidValue;
}

bool GraphExec::enabled(const GraphNode* node, bool& known) const {
  const std::lock_guard lock(mutex_);
  for (const Node& n : nodes_) {
    if (n.origin == node) {
      known = true;
      return n.enabled;
    }
  }
  known = false;
  return false;
}

bool capturing(Stream& stream) {
  const std::lock_guard lock(capture_mutex());
  return stream.capture != nullptr;
}

hipError_t forbid_capture(Stream& stream) {
  const std::lock_guard lock(capture_mutex());
  if (!stream.capture) return hipSuccess;
  stream.capture->invalid = true;
  return hipErrorStreamCaptureUnsupported;
}

hipError_t submit(Stream& stream, std::shared_ptr<Work> work, Ticket* ticket) {
  work->card = stream.card().index();
  {
    const std::lock_guard lock(capture_mutex());
    if (stream.capture) {
      Capture& capture = *stream.capture;
      if (capture.invalid) return hipErrorStreamCaptureInvalidated;
      auto& front = capture.frontier[&stream];
      front = {capture.graph->add(std::move(work), front)};
      if (ticket != nullptr) *ticket = {};
      return hipSuccess;
    }
  }
  const Ticket made = stream.push(std::move(work));
  if (ticket != nullptr) *ticket = made;
  return hipSuccess;
}

}  // namespace gfx906::rt
