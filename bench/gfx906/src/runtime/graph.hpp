// Graphs: nodes and edges, capture of stream work into them, and their replay. A replay keeps
// independent branches concurrent (one internal stream per branch), so that kernels which wait for
// each other across cards can be nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hip_abi.hpp"
#include "stream.hpp"
#include "work.hpp"

namespace gfx906::rt {

class GraphNode {
 public:
  Graph* graph = nullptr;
  std::shared_ptr<Work> work;
  std::vector<GraphNode*> needs;  // edges in
  std::vector<GraphNode*> feeds;  // edges out
  uint64_t id = 0;
};

struct UserObject {
  void* pointer = nullptr;
  hipHostFn_t destroy = nullptr;
  int references = 1;
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  // Adds a node behind `needs` (nodes of this graph).
  GraphNode* add(std::shared_ptr<Work> work, const std::vector<GraphNode*>& needs);
  bool connect(GraphNode* from, GraphNode* to);     // false: an edge already there
  bool disconnect(GraphNode* from, GraphNode* to);  // false: no such edge
  void remove(GraphNode* node);
  bool contains(const GraphNode* node) const;
  std::unique_ptr<Graph> clone() const;
  // Nodes so that every edge points forward; empty when there is a cycle (and nodes).
  std::vector<GraphNode*> order() const;

  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::map<const GraphNode*, GraphNode*> cloned_from;  // original node to this graph's node
  std::map<UserObject*, int> user_objects;
  std::vector<void*> memory;  // of its allocation nodes, freed with it
};

class ChildGraphWork : public WorkOf<ChildGraphWork, hipGraphNodeTypeGraph> {
 public:
  std::shared_ptr<Graph> graph;
  hipError_t run(WorkReport&) override { return hipSuccess; }  // replay expands it
};

class GraphExec {
 public:
  // Flattens the graph. Errors: hipErrorInvalidValue for a cycle.
  static hipError_t make(const Graph& graph, unsigned long long flags,
                         std::unique_ptr<GraphExec>& exec);
  ~GraphExec();
  hipError_t launch(Stream& stream);
  // Takes the works of a graph of the same shape.
  hipGraphExecUpdateResult update(const Graph& graph, GraphNode*& offender);
  // Replaces one node's work (the node of the graph it was made from).
  hipError_t replace(const GraphNode* node, std::shared_ptr<Work> work);
  std::shared_ptr<Work> work_of(const GraphNode* node) const;
  hipError_t set_enabled(const GraphNode* node, bool enabled);
  bool enabled(const GraphNode* node, bool& known) const;
  unsigned long long flags = 0;

 private:
  struct Node {
    const GraphNode* origin = nullptr;
    std::shared_ptr<Work> work;
    std::vector<size_t> needs;
    size_t lane = 0;
    bool enabled = true;
  };
  void assign_lanes();
  Ticket push_node(Node& node, Stream& stream, std::vector<Ticket> waits);
  mutable std::mutex mutex_;
  std::vector<Node> nodes_;
  std::vector<Stream*> lanes_;  // lanes_[0] stays null: the launch stream
  size_t lane_count_ = 1;
};

// One capture: the graph under construction and, for each stream taking part, the nodes its next
// one comes behind.
class Capture {
 public:
  std::unique_ptr<Graph> owned;  // empty when capturing into a program's own graph
  Graph* graph = nullptr;
  Stream* origin = nullptr;
  int mode = 0;
  std::thread::id thread;
  uint64_t id = 0;
  bool invalid = false;
  std::map<Stream*, std::vector<GraphNode*>> frontier;
};

std::mutex& capture_mutex();

// Runs work in a stream or, when it captures, adds it to the capture's graph. `ticket` (may be
// null) gets what to wait for, empty when captured.
hipError_t submit(Stream& stream, std::shared_ptr<Work> work, Ticket* ticket = nullptr);
// hipSuccess when the stream does not capture; else the capture becomes invalid and the error is
// returned.
hipError_t forbid_capture(Stream& stream);
bool capturing(Stream& stream);
bool is_graph(const Graph* graph);
void add_graph(Graph* graph);
bool remove_graph(Graph* graph);
bool is_exec(const GraphExec* exec);
void add_exec(GraphExec* exec);
bool remove_exec(GraphExec* exec);
bool is_node(const GraphNode* node);

}  // namespace gfx906::rt
