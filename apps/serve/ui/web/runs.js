// Answers under way: one per chat at most, going on while another chat is shown.
import {streamChat} from './api.js';
import {requestFields} from './settings.js';
import {pathTo} from './tree.js';

const kSaveEvery = 1500;   // ms
const kLock = 'veloce.run';

function contentOf(message) {
  if (!message.images?.length) return message.content;
  const parts = message.images.map((image) => ({type: 'image_url', image_url: {url: image.data}}));
  if (message.content) parts.push({type: 'text', text: message.content});
  return parts;
}

// The request for the answer `message`, which ends the path.
export function chatRequest(chat, messages, message, continuing) {
  const path = pathTo(messages, message.id);
  const out = [];
  if (chat.settings.system) out.push({role: 'system', content: chat.settings.system});
  for (const each of path) {
    if (each === message && !continuing) break;
    const entry = {role: each.role, content: contentOf(each)};
    if (each === message && each.reasoning) entry.reasoning_content = each.reasoning;
    // An answer that never came would make two messages of the user in a row less of a fault than an empty one.
    if (each.role === 'assistant' && each.content === '' && each !== message) continue;
    out.push(entry);
  }
  const body = {...requestFields(chat.settings), messages: out, stream: true, stream_options: {include_usage: true},
                timings_per_token: true, return_progress: true};
  if (continuing) body.continue_final_message = true;
  return body;
}

// The lock tells other tabs that an unfinished answer is being written.
const locked = (work) => (navigator.locks ? navigator.locks.request(kLock, {mode: 'shared'}, work) : work());
export async function othersWrite() {
  return Boolean(navigator.locks) && (await navigator.locks.query()).held.some((lock) => lock.name === kLock);
}

export class Runs {
  #runs = new Map();
  // `changed(chat, message, ended)` after each piece; `save(message)` now and then and at the end.
  constructor({changed, save}) {
    this.changed = changed;
    this.save = save;
  }

  of(chat) { return this.#runs.get(chat); }
  get size() { return this.#runs.size; }
  stop(chat) { this.#runs.get(chat)?.controller.abort(); }
  // For a chat that is deleted: what was written is not kept.
  drop(chat) {
    const run = this.#runs.get(chat);
    if (run) run.dropped = true;
    this.stop(chat);
  }

  async start(chat, messages, message, continuing = false) {
    const run = {controller: new AbortController(), message, progress: null, saved: performance.now()};
    this.#runs.set(chat.id, run);
    message.state = 'streaming';
    for (const old of continuing ? ['error', 'finish'] : ['error', 'finish', 'calls', 'timings']) delete message[old];
    this.changed(chat, message, false);
    await locked(() => this.#write(run, chat, messages, continuing));
    this.#runs.delete(chat.id);
    if (run.dropped) return;
    await this.save(message);
    this.changed(chat, message, true);
  }

  async #write(run, chat, messages, continuing) {
    const {message} = run;
    try {
      for await (const chunk of streamChat(chatRequest(chat, messages, message, continuing), run.controller.signal)) {
        this.#take(run, chunk);
        this.changed(chat, message, false);
        if (!run.dropped && performance.now() - run.saved > kSaveEvery) {
          run.saved = performance.now();
          this.save(message);
        }
      }
      message.state = message.finish === 'length' ? 'length' : 'done';
    } catch (error) {
      message.state = error.name === 'AbortError' ? 'stopped' : 'error';
      if (message.state === 'error') message.error = {message: error.message, type: error.type ?? '', ...numbersOf(error.details)};
    }
  }

  #take(run, chunk) {
    const message = run.message;
    if (chunk.model) message.model = chunk.model;
    if (chunk.timings) message.timings = chunk.timings;
    if (chunk.prompt_progress) run.progress = chunk.prompt_progress;
    const choice = chunk.choices?.[0];
    if (!choice) return;
    if (choice.finish_reason) message.finish = choice.finish_reason;
    const {content, reasoning_content: thoughts, tool_calls: calls} = choice.delta ?? {};
    if (thoughts) {
      run.thinkingSince ??= performance.now();
      message.reasoning = (message.reasoning ?? '') + thoughts;
      message.thoughtMs = performance.now() - run.thinkingSince;
    }
    if (content) message.content += content;
    for (const call of calls ?? []) takeCall(message, call);
    if (thoughts || content || calls) run.progress = null;
  }
}

function takeCall(message, delta) {
  message.calls ??= [];
  const call = message.calls[delta.index ?? 0] ??= {name: '', arguments: ''};
  call.name += delta.function?.name ?? '';
  call.arguments += delta.function?.arguments ?? '';
}

function numbersOf(details) {
  const out = {};
  for (const name of ['n_prompt_tokens', 'n_ctx']) if (typeof details?.[name] === 'number') out[name] = details[name];
  return out;
}
