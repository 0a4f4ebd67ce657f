// Everything of Veloce that needs no GPU toolkit, no compiled part and no library but the standard
// one: weight formats, op contracts, the scalar oracles, the CPU backend, GGUF files.
//
//   #include <veloce/veloce.hpp>
//   auto file = veloce::gguf::File::open("model.gguf");
//   if (!file) return report(file.status());
//
// Text (tokenizers, templates) and the model layer have headers of their own under veloce/text and
// veloce/model.
#pragma once

#include "veloce/config.hpp"
#include "veloce/core/dim.hpp"
#include "veloce/core/numeric.hpp"
#include "veloce/core/status.hpp"
#include "veloce/cpu/elementwise.hpp"
#include "veloce/cpu/kernels.hpp"
#include "veloce/cpu/matvec.hpp"
#include "veloce/cpu/packed_weights.hpp"
#include "veloce/cpu/pool.hpp"
#include "veloce/formats/activation_q8.hpp"
#include "veloce/formats/all.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/gguf/writer.hpp"
#include "veloce/ops/attention.hpp"
#include "veloce/ops/elementwise.hpp"
#include "veloce/ops/embed.hpp"
#include "veloce/ops/matvec.hpp"
#include "veloce/ops/rms_norm.hpp"
#include "veloce/ops/rope.hpp"
#include "veloce/ops/softmax.hpp"
#include "veloce/ops/top_k.hpp"
#include "veloce/ref/attention.hpp"
#include "veloce/ref/elementwise.hpp"
#include "veloce/ref/embed.hpp"
#include "veloce/ref/matvec.hpp"
#include "veloce/ref/rms_norm.hpp"
#include "veloce/ref/rope.hpp"
#include "veloce/ref/softmax.hpp"
#include "veloce/ref/top_k.hpp"
