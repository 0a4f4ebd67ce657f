// Nodes of graphs: making them, reading and changing their parameters, in a graph and in an
// executable one.
#include <cstring>

#include "api.hpp"
#include "launch.hpp"
#include "memory.hpp"

using namespace gfx906::rt;

namespace {

using WorkPtr = std::shared_ptr<Work>;

hipError_t add(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* needs, size_t count,
               WorkPtr work) {
  if (out == nullptr || !is_graph(graph) || (count != 0 && needs == nullptr))
    return hipErrorInvalidValue;
  std::vector<GraphNode*> list(needs, needs + count);
  for (const GraphNode* need : list) {
    if (!graph->contains(need)) return hipErrorInvalidValue;
  }
  *out = graph->add(std::move(work), list);
  return hipSuccess;
}

// A node's work if it is of the wanted class, else null.
template <class Wanted>
std::shared_ptr<Wanted> work_as(hipGraphNode_t node) {
  return is_node(node) ? std::dynamic_pointer_cast<Wanted>(node->work) : nullptr;
}

// Puts a new work into a node (exec null) or into its place in an executable graph.
hipError_t put(hipGraphNode_t node, hipGraphExec_t exec, WorkPtr work) {
  if (exec != nullptr) return exec->replace(node, std::move(work));
  if (node->work->type() != work->type()) return hipErrorInvalidValue;
  node->work = std::move(work);
  return hipSuccess;
}

// The card of a new node is the current one, of a changed node what it was.
int card_for(hipGraphNode_t node) {
  return node != nullptr ? node->work->card : current_card_index();
}

hipError_t make_kernel(const hipKernelNodeParams* p, hipGraphNode_t node, WorkPtr& work) {
  if (p == nullptr) return hipErrorInvalidValue;
  LaunchRequest r;
  r.handle = p->func;
  const uint32_t grid[3] = {p->gridDim.x, p->gridDim.y, p->gridDim.z};
  const uint32_t block[3] = {p->blockDim.x, p->blockDim.y, p->blockDim.z};
  std::memcpy(r.grid, grid, sizeof grid);
  std::memcpy(r.block, block, sizeof block);
  r.dynamic_lds = p->sharedMemBytes;
  r.arguments = p->kernelParams;
  r.extra = p->kernelParams == nullptr ? p->extra : nullptr;
  r.card = card_for(node);
  if (node != nullptr) {
    if (const auto before = work_as<KernelWork>(node)) r.cooperative = before->cooperative;
  }
  std::shared_ptr<KernelWork> made;
  const hipError_t error = make_kernel_work(r, made);
  work = std::move(made);
  return error;
}

hipError_t make_copy_work(const CopyRequest& r, hipGraphNode_t node, WorkPtr& work,
                          const hipMemcpy3DParms* params = nullptr) {
  if (const hipError_t error = check_copy(r); error != hipSuccess) return error;
  auto made = make_copy(r);
  made->card = card_for(node);
  if (params != nullptr) {
    made->params = *params;
  } else {
    made->params.srcPtr = {const_cast<void*>(r.source), r.width, r.width, 1};
    made->params.dstPtr = {r.target, r.width, r.width, 1};
    made->params.extent = {r.width, 1, 1};
    made->params.kind = r.kind;
  }
  work = std::move(made);
  return hipSuccess;
}

hipError_t make_copy_3d(const hipMemcpy3DParms* p, hipGraphNode_t node, WorkPtr& work) {
  if (p == nullptr) return hipErrorInvalidValue;
  CopyRequest r;
  if (const hipError_t error = request_of(*p, r); error != hipSuccess) return error;
  return make_copy_work(r, node, work, p);
}

hipError_t make_copy_1d(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                        hipGraphNode_t node, WorkPtr& work) {
  CopyRequest r;
  r.target = to;
  r.source = from;
  r.width = bytes;
  r.kind = kind;
  return bytes == 0 ? hipErrorInvalidValue : make_copy_work(r, node, work);
}

hipError_t make_symbol_copy(void* other, const void* symbol, size_t bytes, size_t offset,
                            hipMemcpyKind kind, bool to_symbol, hipGraphNode_t node,
                            WorkPtr& work) {
  void* base = nullptr;
  size_t size = 0;
  if (const hipError_t error = symbol_memory(symbol, base, size); error != hipSuccess) return error;
  if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
  void* place = static_cast<uint8_t*>(base) + offset;
  return to_symbol ? make_copy_1d(place, other, bytes, kind, node, work)
                   : make_copy_1d(other, place, bytes, kind, node, work);
}

hipError_t make_fill_work(const hipMemsetParams* p, hipGraphNode_t node, WorkPtr& work) {
  if (p == nullptr || p->width == 0 || p->height == 0) return hipErrorInvalidValue;
  std::shared_ptr<FillWork> made;
  if (const hipError_t error = make_fill(*p, made); error != hipSuccess) return error;
  made->card = card_for(node);
  work = std::move(made);
  return hipSuccess;
}

hipError_t make_host(const hipHostNodeParams* p, hipGraphNode_t node, WorkPtr& work) {
  if (p == nullptr || p->fn == nullptr) return hipErrorInvalidValue;
  auto made = std::make_shared<HostWork>();
  made->params = *p;
  made->card = card_for(node);
  work = std::move(made);
  return hipSuccess;
}

hipError_t make_child(hipGraph_t child, WorkPtr& work) {
  if (!is_graph(child)) return hipErrorInvalidValue;
  auto made = std::make_shared<ChildGraphWork>();
  made->graph = child->clone();
  add_graph(made->graph.get());
  made->card = current_card_index();
  work = std::move(made);
  return hipSuccess;
}

template <class EventWork>
hipError_t make_event(hipEvent_t event, hipGraphNode_t node, WorkPtr& work) {
  if (!Event::alive(event)) return hipErrorInvalidHandle;
  auto made = std::make_shared<EventWork>();
  made->event = event;
  made->card = card_for(node);
  work = std::move(made);
  return hipSuccess;
}

hipError_t make_alloc(hipMemAllocNodeParams* p, hipGraph_t graph, WorkPtr& work) {
  if (p == nullptr || p->bytesize == 0 || !is_graph(graph)) return hipErrorInvalidValue;
  if (p->poolProps.location.type != 1 || card(p->poolProps.location.id) == nullptr)
    return hipErrorInvalidValue;
  p->dptr = AddressMap::instance().allocate(p->bytesize, MemoryKind::kDevice,
                                            p->poolProps.location.id, 0);
  if (p->dptr == nullptr) return hipErrorOutOfMemory;
  graph->memory.push_back(p->dptr);
  auto made = std::make_shared<AllocWork>();
  made->params = *p;
  made->card = current_card_index();
  work = std::move(made);
  return hipSuccess;
}

WorkPtr make_free(void* pointer) {
  auto made = std::make_shared<FreeWork>();
  made->pointer = pointer;
  made->keep = true;
  made->card = current_card_index();
  return made;
}

// Runs `make` to build a work and adds it as a node.
template <class Make>
hipError_t add_made(hipGraphNode_t* out, hipGraph_t graph, const hipGraphNode_t* needs,
                    size_t count, Make&& make) {
  return api([&] {
    WorkPtr work;
    const hipError_t error = make(work);
    return error != hipSuccess ? error : add(out, graph, needs, count, std::move(work));
  });
}

// Runs `make` to build a work and puts it into the node, or the exec's copy of it.
template <class Make>
hipError_t change(hipGraphNode_t node, hipGraphExec_t exec, bool in_exec, Make&& make) {
  return api([&] {
    if (!is_node(node) || (in_exec && !is_exec(exec))) return hipErrorInvalidValue;
    WorkPtr work;
    const hipError_t error = make(work);
    return error != hipSuccess ? error : put(node, in_exec ? exec : nullptr, std::move(work));
  });
}

// hipGraphNodeParams of the generic calls.
hipError_t make_any(hipGraphNodeParams* p, hipGraphNode_t node, hipGraph_t graph, WorkPtr& work) {
  if (p == nullptr) return hipErrorInvalidValue;
  switch (p->type) {
    case hipGraphNodeTypeKernel:
      return make_kernel(&p->kernel, node, work);
    case hipGraphNodeTypeMemcpy:
      return make_copy_3d(&p->memcpy.copyParams, node, work);
    case hipGraphNodeTypeMemset:
      return make_fill_work(&p->memset, node, work);
    case hipGraphNodeTypeHost:
      return make_host(&p->host, node, work);
    case hipGraphNodeTypeGraph:
      return make_child(p->graph, work);
    case hipGraphNodeTypeEmpty:
      work = std::make_shared<EmptyWork>();
      return hipSuccess;
    case hipGraphNodeTypeWaitEvent:
      return make_event<EventWaitWork>(p->event, node, work);
    case hipGraphNodeTypeEventRecord:
      return make_event<EventRecordWork>(p->event, node, work);
    case hipGraphNodeTypeMemAlloc:
      return node == nullptr ? make_alloc(&p->alloc, graph, work) : hipErrorNotSupported;
    case hipGraphNodeTypeMemFree:
      work = make_free(p->free);
      return hipSuccess;
    default:
      return hipErrorNotSupported;
  }
}

}  // namespace

#define NODE_HEAD hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *needs, size_t count

GFX906_HIP hipError_t hipGraphAddKernelNode(NODE_HEAD, const hipKernelNodeParams* p) {
  return add_made(out, graph, needs, count, [&](WorkPtr& w) { return make_kernel(p, nullptr, w); });
}
GFX906_HIP hipError_t hipGraphAddMemcpyNode(NODE_HEAD, const hipMemcpy3DParms* p) {
  return add_made(out, graph, needs, count,
                  [&](WorkPtr& w) { return make_copy_3d(p, nullptr, w); });
}
GFX906_HIP hipError_t hipGraphAddMemcpyNode1D(NODE_HEAD, void* to, const void* from, size_t bytes,
                                              hipMemcpyKind kind) {
  return add_made(out, graph, needs, count,
                  [&](WorkPtr& w) { return make_copy_1d(to, from, bytes, kind, nullptr, w); });
}
GFX906_HIP hipError_t hipGraphAddMemcpyNodeToSymbol(NODE_HEAD, const void* symbol, const void* from,
                                                    size_t bytes, size_t offset,
                                                    hipMemcpyKind kind) {
  return add_made(out, graph, needs, count, [&](WorkPtr& w) {
    return make_symbol_copy(const_cast<void*>(from), symbol, bytes, offset, kind, true, nullptr, w);
  });
}
GFX906_HIP hipError_t hipGraphAddMemcpyNodeFromSymbol(NODE_HEAD, void* to, const void* symbol,
                                                      size_t bytes, size_t offset,
                                                      hipMemcpyKind kind) {
  return add_made(out, graph, needs, count, [&](WorkPtr& w) {
    return make_symbol_copy(to, symbol, bytes, offset, kind, false, nullptr, w);
  });
}
GFX906_HIP hipError_t hipGraphAddMemsetNode(NODE_HEAD, const hipMemsetParams* p) {
  return add_made(out, graph, needs, count,
                  [&](WorkPtr& w) { return make_fill_work(p, nullptr, w); });
}
GFX906_HIP hipError_t hipGraphAddHostNode(NODE_HEAD, const hipHostNodeParams* p) {
  return add_made(out, graph, needs, count, [&](WorkPtr& w) { return make_host(p, nullptr, w); });
}
GFX906_HIP hipError_t hipGraphAddChildGraphNode(NODE_HEAD, hipGraph_t child) {
  return add_made(out, graph, needs, count, [&](WorkPtr& w) { return make_child(child, w); });
}
GFX906_HIP hipError_t hipGraphAddEmptyNode(NODE_HEAD) {
  return add_made(out, graph, needs, count, [&](WorkPtr& w) {
    w = std::make_shared<EmptyWork>();
    w->card = current_card_index();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphAddEventRecordNode(NODE_HEAD, hipEvent_t event) {
  return add_made(out, graph, needs, count,
                  [&](WorkPtr& w) { return make_event<EventRecordWork>(event, nullptr, w); });
}
GFX906_HIP hipError_t hipGraphAddEventWaitNode(NODE_HEAD, hipEvent_t event) {
  return add_made(out, graph, needs, count,
                  [&](WorkPtr& w) { return make_event<EventWaitWork>(event, nullptr, w); });
}
GFX906_HIP hipError_t hipGraphAddMemAllocNode(NODE_HEAD, hipMemAllocNodeParams* p) {
  return add_made(out, graph, needs, count, [&](WorkPtr& w) { return make_alloc(p, graph, w); });
}
GFX906_HIP hipError_t hipGraphAddMemFreeNode(NODE_HEAD, void* pointer) {
  return add_made(out, graph, needs, count, [&](WorkPtr& w) {
    if (pointer == nullptr) return hipErrorInvalidValue;
    w = make_free(pointer);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphAddNode(NODE_HEAD, hipGraphNodeParams* p) {
  return add_made(out, graph, needs, count,
                  [&](WorkPtr& w) { return make_any(p, nullptr, graph, w); });
}

// ---- Getters ----

GFX906_HIP hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* p) {
  return api([&] {
    const auto work = work_as<KernelWork>(node);
    if (!work || p == nullptr) return hipErrorInvalidValue;
    *p = work->params();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms* p) {
  return api([&] {
    const auto work = work_as<CopyWork>(node);
    if (!work || p == nullptr) return hipErrorInvalidValue;
    *p = work->params;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* p) {
  return api([&] {
    const auto work = work_as<FillWork>(node);
    if (!work || p == nullptr) return hipErrorInvalidValue;
    *p = {work->target, work->element, work->height, work->pitch, work->value, work->width};
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* p) {
  return api([&] {
    const auto work = work_as<HostWork>(node);
    if (!work || p == nullptr) return hipErrorInvalidValue;
    *p = work->params;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* graph) {
  return api([&] {
    const auto work = work_as<ChildGraphWork>(node);
    if (!work || graph == nullptr) return hipErrorInvalidValue;
    *graph = work->graph.get();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
  return api([&] {
    const auto work = work_as<EventRecordWork>(node);
    if (!work || event == nullptr) return hipErrorInvalidValue;
    *event = work->event;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
  return api([&] {
    const auto work = work_as<EventWaitWork>(node);
    if (!work || event == nullptr) return hipErrorInvalidValue;
    *event = work->event;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams* p) {
  return api([&] {
    const auto work = work_as<AllocWork>(node);
    if (!work || p == nullptr) return hipErrorInvalidValue;
    *p = work->params;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void* pointer) {
  return api([&] {
    const auto work = work_as<FreeWork>(node);
    if (!work || pointer == nullptr) return hipErrorInvalidValue;
    std::memcpy(pointer, &work->pointer, sizeof work->pointer);
    return hipSuccess;
  });
}

// ---- Setters, in pairs: of a graph's node and of an executable graph's ----

#define SETTER_PAIR(graph_name, exec_name, params, make_call)                         \
  GFX906_HIP hipError_t graph_name(hipGraphNode_t node, params) {                     \
    return change(node, nullptr, false, [&](WorkPtr& w) { return make_call; });       \
  }                                                                                   \
  GFX906_HIP hipError_t exec_name(hipGraphExec_t exec, hipGraphNode_t node, params) { \
    return change(node, exec, true, [&](WorkPtr& w) { return make_call; });           \
  }
#define COMMA ,

SETTER_PAIR(hipGraphKernelNodeSetParams, hipGraphExecKernelNodeSetParams,
            const hipKernelNodeParams* p, make_kernel(p, node, w))
SETTER_PAIR(hipGraphMemcpyNodeSetParams, hipGraphExecMemcpyNodeSetParams, const hipMemcpy3DParms* p,
            make_copy_3d(p, node, w))
SETTER_PAIR(hipGraphMemcpyNodeSetParams1D, hipGraphExecMemcpyNodeSetParams1D,
            void* to COMMA const void* from COMMA size_t bytes COMMA hipMemcpyKind kind,
            make_copy_1d(to, from, bytes, kind, node, w))
SETTER_PAIR(hipGraphMemcpyNodeSetParamsToSymbol, hipGraphExecMemcpyNodeSetParamsToSymbol,
            const void* symbol COMMA const void* from COMMA size_t bytes COMMA size_t offset COMMA
                hipMemcpyKind kind,
            make_symbol_copy(const_cast<void*>(from), symbol, bytes, offset, kind, true, node, w))
SETTER_PAIR(hipGraphMemcpyNodeSetParamsFromSymbol, hipGraphExecMemcpyNodeSetParamsFromSymbol,
            void* to COMMA const void* symbol COMMA size_t bytes COMMA size_t offset COMMA
                hipMemcpyKind kind,
            make_symbol_copy(to, symbol, bytes, offset, kind, false, node, w))
SETTER_PAIR(hipGraphMemsetNodeSetParams, hipGraphExecMemsetNodeSetParams, const hipMemsetParams* p,
            make_fill_work(p, node, w))
SETTER_PAIR(hipGraphHostNodeSetParams, hipGraphExecHostNodeSetParams, const hipHostNodeParams* p,
            make_host(p, node, w))
SETTER_PAIR(hipGraphEventRecordNodeSetEvent, hipGraphExecEventRecordNodeSetEvent, hipEvent_t event,
            make_event<EventRecordWork>(event, node, w))
SETTER_PAIR(hipGraphEventWaitNodeSetEvent, hipGraphExecEventWaitNodeSetEvent, hipEvent_t event,
            make_event<EventWaitWork>(event, node, w))
SETTER_PAIR(hipGraphNodeSetParams, hipGraphExecNodeSetParams, hipGraphNodeParams* p,
            make_any(p, node, node->graph, w))

GFX906_HIP hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec, hipGraphNode_t node,
                                             unsigned enabled) {
  return api([&] {
    if (!is_exec(exec) || !is_node(node)) return hipErrorInvalidValue;
    const hipGraphNodeType type = node->work->type();
    const bool can = type == hipGraphNodeTypeKernel || type == hipGraphNodeTypeMemcpy ||
                     type == hipGraphNodeTypeMemset;
    return can ? exec->set_enabled(node, enabled != 0) : hipErrorInvalidValue;
  });
}
GFX906_HIP hipError_t hipGraphNodeGetEnabled(hipGraphExec_t exec, hipGraphNode_t node,
                                             unsigned* enabled) {
  return api([&] {
    if (!is_exec(exec) || !is_node(node) || enabled == nullptr) return hipErrorInvalidValue;
    bool known = false;
    *enabled = exec->enabled(node, known) ? 1 : 0;
    return known ? hipSuccess : hipErrorInvalidValue;
  });
}
// Attributes: 2 cooperative, 8 priority (both an int); 1, the access window, has no effect on this
// card.
GFX906_HIP hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node, int attribute,
                                                     const void* value) {
  return api([&] {
    const auto before = work_as<KernelWork>(node);
    if (!before || value == nullptr) return hipErrorInvalidValue;
    if (attribute == 1) return hipSuccess;
    int number = 0;
    std::memcpy(&number, value, sizeof number);
    auto work = std::make_shared<KernelWork>(*before);
    if (attribute == 2) {
      work->cooperative = number != 0;
    } else if (attribute == 8) {
      work->priority = number;
    } else {
      return hipErrorInvalidValue;
    }
    node->work = std::move(work);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t node, int attribute,
                                                     void* value) {
  return api([&] {
    const auto work = work_as<KernelWork>(node);
    if (!work || value == nullptr || (attribute != 2 && attribute != 8))
      return hipErrorInvalidValue;
    const int number = attribute == 2 ? work->cooperative : work->priority;
    std::memcpy(value, &number, sizeof number);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t from, hipGraphNode_t to) {
  return api([&] {
    const auto source = work_as<KernelWork>(from), target = work_as<KernelWork>(to);
    if (!source || !target) return hipErrorInvalidValue;
    auto work = std::make_shared<KernelWork>(*target);
    work->cooperative = source->cooperative;
    work->priority = source->priority;
    to->work = std::move(work);
    return hipSuccess;
  });
}
