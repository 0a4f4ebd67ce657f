// Calls of the host by a running kernel: device printf, assert, memory for device malloc, function
// calls. The kernel puts a packet on a stack in shared memory, sends an interrupt message and spins
// until the packet is answered.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace gfx906::rt {

class Hostcall {
 public:
  Hostcall();
  uint64_t buffer_address() const;
  // What device malloc keeps its books in: zeroed memory, made on first use.
  uint64_t heap_address();
  // Answers all waiting packets; called when a kernel has sent its interrupt message.
  void serve();

  static Hostcall& of_card(int card);

 private:
  struct Header {
    uint64_t next;
    uint64_t active_lanes;
    uint32_t service;
    uint32_t control;  // bit 0: waiting for an answer
  };
  struct Payload {
    uint64_t slots[64][8];
  };
  // HSA's user signal; an event mailbox that is not null makes the kernel send its interrupt.
  struct Signal {
    int64_t kind = 1;
    int64_t value = 0;
    uint64_t mailbox = 0;
    uint32_t event_id = 1;
    uint32_t reserved[9] = {};
  };
  struct Buffer {
    Header* headers;
    Payload* payloads;
    Signal* doorbell;
    uint64_t free_stack;
    uint64_t ready_stack;
    uint64_t index_mask;
  };

  void answer(uint32_t service, uint64_t* slots);
  void take_message(uint64_t* slots);
  uint64_t ask_memory(uint64_t address, uint64_t bytes);

  std::mutex mutex_;
  std::vector<Header> headers_;
  std::vector<Payload> payloads_;
  Signal doorbell_;
  uint64_t mailbox_ = 0, heap_ = 0;
  // Memory that kernels have asked for and not given back: bytes by address.
  std::unordered_map<uint64_t, uint64_t> given_;
  Buffer buffer_{};
  std::unordered_map<uint64_t, std::vector<uint64_t>> messages_;  // printf calls that came in parts
  uint64_t next_message_ = 1;
};

// The text of one device printf: its words are a stream selector, the format (padded to 8 bytes)
// and the arguments, 8 bytes each, strings in place. Never reads past the words. `written` gets the
// text; the stream is 0 for stdout.
int format_device_printf(const std::vector<uint64_t>& words, std::string& text);

}  // namespace gfx906::rt
