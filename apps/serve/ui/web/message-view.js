// One message on the page. It keeps its nodes while its text grows.
import {copyButton, count, el, icon, iconButton, rate, setIcon, textButton} from './dom.js';
import {MarkdownView} from './markdown.js';

export function speedText(timings) {
  if (!timings?.predicted_n) return '';
  const parts = [`${count(timings.predicted_n)} tokens`];
  if (timings.predicted_per_second > 0) parts.unshift(`${rate(timings.predicted_per_second)} tok/s`);
  return parts.join(' · ');
}

function timingRows(timings) {
  const rows = [];
  const add = (name, value) => rows.push(el('div', {}, el('dt', {text: name}), el('dd', {text: value})));
  add('Answer', `${count(timings.predicted_n)} tokens, ${rate(timings.predicted_per_second ?? 0)} tok/s`);
  add('Prompt', `${count(timings.prompt_n)} tokens, ${rate(timings.prompt_per_second ?? 0)} tok/s`);
  if (timings.cache_n > 0) add('From the cache', `${count(timings.cache_n)} tokens`);
  add('Time', `${rate((timings.prompt_ms ?? 0) / 1000)} s + ${rate((timings.predicted_ms ?? 0) / 1000)} s`);
  if (timings.draft_n > 0) {
    add('Speculative', `${count(timings.draft_n_accepted)} of ${count(timings.draft_n)} accepted (${Math.round(100 * timings.draft_n_accepted / timings.draft_n)} %)`);
  }
  return el('dl', {class: 'timing-rows'}, ...rows);
}

const kStates = {stopped: 'Stopped', length: 'Cut off: the longest answer or the context is reached'};

export function errorText(error) {
  if (error.type === 'exceed_context_size_error') {
    const numbers = error.n_ctx ? ` It takes ${count(error.n_prompt_tokens ?? 0)} tokens and the server holds ${count(error.n_ctx)}.` : '';
    return `This chat no longer fits the model's context.${numbers} Branch from an earlier message or start a new chat.`;
  }
  return error.message;
}

export class MessageView {
  // `actions`: copy, edit, regenerate, resume, branch, remove, show (a sibling), each called with the message.
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.user = message.role === 'user';
    this.node = el('li', {class: `message ${this.user ? 'user' : 'assistant'}`, 'data-id': message.id});
    this.head = el('h2', {class: 'visually-hidden', text: this.user ? 'You' : 'Answer'});
    this.body = el('div', {class: 'message-body'});
    this.foot = el('div', {class: 'message-foot'});
    this.node.append(this.head, this.body, this.foot);
    if (this.user) this.buildUser();
    else this.buildAnswer();
  }

  buildUser() {
    const images = (this.message.images ?? []).map((image) => el('img', {src: image.data, alt: image.name || 'Attached image'}));
    if (images.length) this.body.append(el('div', {class: 'message-images'}, ...images));
    if (this.message.content) this.body.append(el('div', {class: 'bubble', text: this.message.content}));
  }

  buildAnswer() {
    this.thoughtLabel = el('span', {text: 'Thinking'});
    this.thoughtText = el('div', {class: 'thought-text markdown'});
    this.thought = el('details', {class: 'thought', hidden: true},
      el('summary', {}, icon('thought'), this.thoughtLabel), this.thoughtText);
    this.text = el('div', {class: 'markdown answer-text'});
    this.calls = el('div', {class: 'calls'});
    this.wait = el('div', {class: 'wait'});
    this.problem = el('div', {class: 'problem', role: 'alert', hidden: true});
    this.body.append(this.thought, this.text, this.calls, this.wait, this.problem);
    this.thoughts = new MarkdownView(this.thoughtText);
    this.answer = new MarkdownView(this.text);
    this.thought.addEventListener('toggle', () => this.showThoughts(true));
  }

  // `place`: {index, siblings (their ids), last, run (where this message is being written), busy (something is)}.
  refresh(place) {
    const streaming = Boolean(place.run);
    if (!this.user) this.refreshAnswer(place);
    const key = JSON.stringify([place.index, place.siblings, place.last, streaming, place.busy, this.message.state]);
    if (key !== this.footKey) {
      this.footKey = key;
      this.buildFoot(place, streaming);
    }
    if (this.speed) this.speed.textContent = speedText(this.message.timings) || (streaming ? '' : 'Details');
    this.node.classList.toggle('last', place.last);
  }

  refreshAnswer({run}) {
    const {message} = this;
    const streaming = Boolean(run);
    this.node.setAttribute('aria-busy', String(streaming));
    this.showThoughts(!streaming);
    if (this.shown !== message.content || this.wasStreaming !== streaming) {
      this.answer.update(message.content, !streaming);
      this.shown = message.content;
    }
    this.wasStreaming = streaming;
    this.showCalls();
    this.showWait(run);
    this.problem.hidden = !message.error;
    if (message.error && this.problemShown !== message.error) {
      this.problemShown = message.error;
      this.problem.replaceChildren(icon('warning'), el('p', {text: errorText(message.error)}),
        textButton('Try again', () => this.actions.retry(message)));
    }
  }

  showThoughts(last) {
    const {message} = this;
    this.thought.hidden = !message.reasoning;
    if (!message.reasoning) return;
    const thinking = message.state === 'streaming' && !message.content && !message.calls;
    this.thought.classList.toggle('thinking', thinking);
    const seconds = (message.thoughtMs ?? 0) / 1000;
    this.thoughtLabel.textContent = thinking ? 'Thinking…' : seconds >= 1 ? `Thought for ${Math.round(seconds)} s` : 'Thoughts';
    // Folded thoughts cost nothing.
    if (this.thought.open && this.thoughtsShown !== message.reasoning) {
      this.thoughts.update(message.reasoning, last);
      this.thoughtsShown = message.reasoning;
    }
  }

  showCalls() {
    const key = JSON.stringify(this.message.calls ?? []);
    if (key === this.callsKey) return;
    this.callsKey = key;
    this.calls.replaceChildren(...(this.message.calls ?? []).filter(Boolean).map((call) =>
      el('details', {class: 'call'}, el('summary', {text: `Call of ${call.name}`}), el('pre', {tabindex: '0', text: call.arguments}))));
  }

  showWait(run) {
    const waiting = run && !this.message.content && !this.message.reasoning && !this.message.calls;
    this.wait.hidden = !waiting;
    if (!waiting) return;
    if (!this.waitText) {
      this.waitText = el('span', {class: 'muted'});
      this.wait.append(el('span', {class: 'pulse', 'aria-hidden': 'true'}), this.waitText);
    }
    const progress = run.progress;
    const work = progress ? progress.total - (progress.cache ?? 0) : 0;
    this.waitText.textContent = work > 0 ? `Reading ${count(progress.total)} tokens, ${Math.round(100 * (progress.processed - (progress.cache ?? 0)) / work)} %` : 'Waiting';
  }

  buildFoot(place, streaming) {
    const {message, actions} = this;
    this.speed = null;
    const foot = [];
    if (place.siblings.length > 1) foot.push(this.switcher(place));
    if (!streaming) {
      foot.push(copyButton('Copy message', () => message.content));
      if (!this.user || place.last) {
        foot.push(iconButton('redo', this.user ? 'Answer this' : 'Regenerate', () => actions.regenerate(message), {disabled: place.busy}));
      }
      foot.push(iconButton('edit', 'Edit', () => this.edit(), {disabled: place.busy}));
      foot.push(iconButton('branch', 'Branch into a new chat', () => actions.branch(message)));
      foot.push(iconButton('trash', 'Delete message', () => actions.remove(message), {disabled: place.busy}));
      if (!this.user && place.last && (message.state === 'stopped' || message.state === 'length') && (message.content || message.reasoning)) {
        foot.push(iconButton('play', 'Continue this answer', () => actions.resume(message), {disabled: place.busy}));
      }
    }
    if (!this.user && kStates[message.state]) foot.push(el('span', {class: 'state', text: kStates[message.state]}));
    if (!this.user && (message.timings || streaming)) foot.push(this.timing(streaming));
    this.foot.replaceChildren(...foot);
  }

  timing(streaming) {
    if (streaming) return this.speed = el('span', {class: 'speed'});
    this.speed = el('summary', {class: 'speed'});
    const details = el('details', {class: 'timing'}, this.speed);
    details.addEventListener('toggle', () => {
      details.querySelector('dl')?.remove();
      if (details.open) details.append(timingRows(this.message.timings));
    });
    return details;
  }

  switcher({index, siblings, busy}) {
    const go = (to) => () => this.actions.show(siblings[to], this.message);
    return el('span', {class: 'switcher', role: 'group', 'aria-label': 'Versions'},
      iconButton('left', 'Previous version', go(index - 1), {disabled: busy || index === 0}),
      el('span', {class: 'position', text: `${index + 1} / ${siblings.length}`, 'aria-label': `Version ${index + 1} of ${siblings.length}`, role: 'img'}),
      iconButton('right', 'Next version', go(index + 1), {disabled: busy || index === siblings.length - 1}));
  }

  edit() {
    if (this.editor) return this.editor.querySelector('textarea').focus();
    const area = el('textarea', {'aria-label': 'Edit the message', value: this.message.content, rows: '3'});
    const fit = () => { area.style.height = 'auto'; area.style.height = Math.min(area.scrollHeight + 2, innerHeight * 0.6) + 'px'; };
    const leave = () => {
      this.editor.replaceWith(this.body);
      this.editor = null;
      this.foot.hidden = false;
      this.foot.querySelector('[aria-label="Edit"]')?.focus();
    };
    const save = () => {
      const text = area.value;
      leave();
      this.actions.edited(this.message, text);
    };
    area.addEventListener('input', fit);
    area.addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      if (event.key === 'Escape') { event.stopPropagation(); event.preventDefault(); leave(); }
      if (event.key === 'Enter' && (this.user ? !event.shiftKey : event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); }
    });
    this.editor = el('div', {class: 'editor'}, area, el('div', {class: 'editor-row'},
      textButton('Cancel', leave), textButton(this.user ? 'Send' : 'Save', save, 'primary')));
    this.body.replaceWith(this.editor);
    this.foot.hidden = true;
    fit();
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }
}
