// Graphs as a whole: making, edges, instantiation, launch, update, user objects.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "api.hpp"
#include "launch.hpp"

using namespace gfx906::rt;

namespace {

hipStream_t per_thread(hipStream_t stream) {
  return stream == nullptr ? reinterpret_cast<hipStream_t>(kStreamPerThreadHandle) : stream;
}

// Fills a caller's array as the API does: a null array asks for the count; unused places become
// null.
template <class List>
hipError_t give(const List& list, hipGraphNode_t* out, size_t* count) {
  if (count == nullptr) return hipErrorInvalidValue;
  if (out == nullptr) {
    *count = list.size();
    return hipSuccess;
  }
  for (size_t i = 0; i < *count; ++i) out[i] = i < list.size() ? list[i] : nullptr;
  *count = std::min(*count, list.size());
  return hipSuccess;
}

hipError_t instantiate(hipGraphExec_t* out, hipGraph_t graph, unsigned long long flags) {
  return api([&] {
    if (out == nullptr || !is_graph(graph)) return hipErrorInvalidValue;
    std::unique_ptr<GraphExec> exec;
    const hipError_t error = GraphExec::make(*graph, flags, exec);
    if (error != hipSuccess) return error;
    *out = exec.release();
    add_exec(*out);
    return hipSuccess;
  });
}

const char* kind_of(hipGraphNodeType type) {
  switch (type) {
    case hipGraphNodeTypeKernel:
      return "kernel";
    case hipGraphNodeTypeMemcpy:
      return "copy";
    case hipGraphNodeTypeMemset:
      return "fill";
    case hipGraphNodeTypeHost:
      return "host";
    case hipGraphNodeTypeGraph:
      return "graph";
    case hipGraphNodeTypeWaitEvent:
      return "wait event";
    case hipGraphNodeTypeEventRecord:
      return "record event";
    case hipGraphNodeTypeMemAlloc:
      return "allocate";
    case hipGraphNodeTypeMemFree:
      return "free";
    case hipGraphNodeTypeBatchMemOp:
      return "memory operations";
    default:
      return "empty";
  }
}

}  // namespace

GFX906_HIP hipError_t hipGraphCreate(hipGraph_t* out, unsigned flags) {
  return api([&] {
    if (out == nullptr || flags != 0) return hipErrorInvalidValue;
    *out = new Graph;
    add_graph(*out);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphDestroy(hipGraph_t graph) {
  return api([&] {
    if (!remove_graph(graph)) return hipErrorInvalidValue;
    // Allocations of the graph may still be in use by a replay.
    if (!graph->memory.empty()) {
      for (Card* c : cards()) (void)synchronize_card(*c);
    }
    delete graph;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphClone(hipGraph_t* out, hipGraph_t graph) {
  return api([&] {
    if (out == nullptr || !is_graph(graph)) return hipErrorInvalidValue;
    *out = graph->clone().release();
    add_graph(*out);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphNodeFindInClone(hipGraphNode_t* out, hipGraphNode_t original,
                                              hipGraph_t clone) {
  return api([&] {
    if (out == nullptr || !is_graph(clone)) return hipErrorInvalidValue;
    auto it = clone->cloned_from.find(original);
    if (it == clone->cloned_from.end() || !clone->contains(it->second)) return hipErrorInvalidValue;
    *out = it->second;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return api([&] {
    if (!is_graph(graph)) return hipErrorInvalidValue;
    std::vector<GraphNode*> list;
    for (const auto& node : graph->nodes) list.push_back(node.get());
    return give(list, nodes, count);
  });
}
GFX906_HIP hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return api([&] {
    if (!is_graph(graph)) return hipErrorInvalidValue;
    std::vector<GraphNode*> list;
    for (const auto& node : graph->nodes) {
      if (node->needs.empty()) list.push_back(node.get());
    }
    return give(list, nodes, count);
  });
}
GFX906_HIP hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to,
                                       size_t* count) {
  return api([&] {
    if (!is_graph(graph) || count == nullptr || (from == nullptr) != (to == nullptr))
      return hipErrorInvalidValue;
    std::vector<GraphNode*> starts, ends;
    for (const auto& node : graph->nodes) {
      for (GraphNode* next : node->feeds) {
        starts.push_back(node.get());
        ends.push_back(next);
      }
    }
    if (from == nullptr) {
      *count = starts.size();
      return hipSuccess;
    }
    size_t room = *count;
    (void)give(starts, from, &room);
    return give(ends, to, count);
  });
}
GFX906_HIP hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* out,
                                                  size_t* count) {
  return api([&] { return is_node(node) ? give(node->needs, out, count) : hipErrorInvalidValue; });
}
GFX906_HIP hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* out,
                                                    size_t* count) {
  return api([&] { return is_node(node) ? give(node->feeds, out, count) : hipErrorInvalidValue; });
}
GFX906_HIP hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  return api([&] {
    if (!is_node(node) || type == nullptr) return hipErrorInvalidValue;
    *type = node->work->type();
    return hipSuccess;
  });
}
static hipError_t change_edges(hipGraph_t graph, const hipGraphNode_t* from,
                               const hipGraphNode_t* to, size_t count, bool add) {
  return api([&] {
    if (!is_graph(graph) || (count != 0 && (from == nullptr || to == nullptr)))
      return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!graph->contains(from[i]) || !graph->contains(to[i]) || from[i] == to[i])
        return hipErrorInvalidValue;
      const bool done = add ? graph->connect(from[i], to[i]) : graph->disconnect(from[i], to[i]);
      if (!done) return hipErrorInvalidValue;
    }
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                              const hipGraphNode_t* to, size_t count) {
  return change_edges(graph, from, to, count, true);
}
GFX906_HIP hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from,
                                                 const hipGraphNode_t* to, size_t count) {
  return change_edges(graph, from, to, count, false);
}
GFX906_HIP hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
  return api([&] {
    if (!is_node(node)) return hipErrorInvalidValue;
    node->graph->remove(node);
    return hipSuccess;
  });
}

GFX906_HIP hipError_t hipGraphInstantiate(hipGraphExec_t* out, hipGraph_t graph,
                                          hipGraphNode_t* offender, char* log, size_t log_bytes) {
  if (offender != nullptr) *offender = nullptr;
  if (log != nullptr && log_bytes != 0) *log = 0;
  return instantiate(out, graph, 0);
}
GFX906_HIP hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* out, hipGraph_t graph,
                                                   unsigned long long flags) {
  if ((flags & ~0xfull) != 0) return finish(hipErrorInvalidValue);
  return instantiate(out, graph, flags);
}
GFX906_HIP hipError_t hipGraphInstantiateWithParams(hipGraphExec_t* out, hipGraph_t graph,
                                                    hipGraphInstantiateParams* params) {
  if (params == nullptr) return finish(hipErrorInvalidValue);
  params->errNode_out = nullptr;
  const hipError_t error = hipGraphInstantiateWithFlags(out, graph, params->flags);
  params->result_out = error == hipSuccess ? 0 : 2;
  return error;
}
GFX906_HIP hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return api([&] {
    if (!remove_exec(exec)) return hipErrorInvalidValue;
    delete exec;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphExecGetFlags(hipGraphExec_t exec, unsigned long long* flags) {
  return api([&] {
    if (!is_exec(exec) || flags == nullptr) return hipErrorInvalidValue;
    *flags = exec->flags;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t handle) {
  return api([&] {
    return is_exec(exec) && Stream::resolve(handle) != nullptr ? hipSuccess : hipErrorInvalidValue;
  });
}
GFX906_HIP hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t handle) {
  return api([&] {
    if (!is_exec(exec)) return hipErrorInvalidValue;
    Stream* stream = Stream::resolve(handle);
    if (stream == nullptr) return hipErrorInvalidHandle;
    if (const hipError_t error = forbid_capture(*stream); error != hipSuccess) return error;
    return exec->launch(*stream);
  });
}
GFX906_HIP hipError_t hipGraphLaunch_spt(hipGraphExec_t exec, hipStream_t handle) {
  return hipGraphLaunch(exec, per_thread(handle));
}
GFX906_HIP hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph,
                                         hipGraphNode_t* offender,
                                         hipGraphExecUpdateResult* result) {
  return api([&] {
    if (!is_exec(exec) || !is_graph(graph) || offender == nullptr || result == nullptr)
      return hipErrorInvalidValue;
    *result = exec->update(*graph, *offender);
    return *result == hipGraphExecUpdateSuccess ? hipSuccess : hipErrorGraphExecUpdateFailure;
  });
}

GFX906_HIP hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char* path, unsigned) {
  return api([&] {
    if (!is_graph(graph) || path == nullptr) return hipErrorInvalidValue;
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr) return hipErrorInvalidValue;
    std::fputs("digraph graph0 {\n", file);
    for (const auto& node : graph->nodes) {
      std::string label = kind_of(node->work->type());
      if (node->work->type() == hipGraphNodeTypeKernel) {
        label += ": " + static_cast<const KernelWork&>(*node->work).function->name();
      }
      std::fprintf(file, "  n%llu [label=\"%s\"];\n", static_cast<unsigned long long>(node->id),
                   label.c_str());
      for (const GraphNode* next : node->feeds) {
        std::fprintf(file, "  n%llu -> n%llu;\n", static_cast<unsigned long long>(node->id),
                     static_cast<unsigned long long>(next->id));
      }
    }
    std::fputs("}\n", file);
    return std::fclose(file) == 0 ? hipSuccess : hipErrorUnknown;
  });
}

GFX906_HIP hipError_t hipUserObjectCreate(hipUserObject_t* out, void* pointer, hipHostFn_t destroy,
                                          unsigned count, unsigned flags) {
  return api([&] {
    if (out == nullptr || destroy == nullptr || count == 0 || count > INT32_MAX || flags != 1) {
      return hipErrorInvalidValue;
    }
    *out = new UserObject{pointer, destroy, static_cast<int>(count)};
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count) {
  return api([&] {
    if (object == nullptr || count == 0 || count > INT32_MAX) return hipErrorInvalidValue;
    object->references += static_cast<int>(count);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count) {
  return api([&] {
    if (object == nullptr || count == 0 || count > INT32_MAX) return hipErrorInvalidValue;
    object->references -= static_cast<int>(count);
    if (object->references > 0) return hipSuccess;
    object->destroy(object->pointer);
    delete object;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object,
                                               unsigned count, unsigned flags) {
  return api([&] {
    if (!is_graph(graph) || object == nullptr || count == 0 || count > INT32_MAX || flags > 1) {
      return hipErrorInvalidValue;
    }
    // "Move" hands over references the caller holds; without it the graph takes its own.
    if (flags == 0) object->references += static_cast<int>(count);
    graph->user_objects[object] += static_cast<int>(count);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object,
                                                unsigned count) {
  return api([&] {
    if (!is_graph(graph) || count == 0) return hipErrorInvalidValue;
    auto it = graph->user_objects.find(object);
    if (it == graph->user_objects.end() || it->second < static_cast<int>(count))
      return hipErrorInvalidValue;
    it->second -= static_cast<int>(count);
    if (it->second == 0) graph->user_objects.erase(it);
    return hipUserObjectRelease(object, count);
  });
}
GFX906_HIP hipError_t hipDeviceGraphMemTrim(int device) {
  return api([&] { return card(device) != nullptr ? hipSuccess : hipErrorInvalidDevice; });
}
