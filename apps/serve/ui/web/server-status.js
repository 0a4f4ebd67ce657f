// What the server says about itself: is it there, what model, slots, cache, speed. Asked often only while someone looks.
import {ApiError, getJson, getText} from './api.js';
import {$, count, el, openDialog, rate} from './dom.js';

const kLookEvery = 1500, kCheckEvery = 20000, kRetryEvery = 1500;   // ms

// Prometheus' text: name → sum over its label sets. Both prefixes the server writes are taken off.
export function parseMetrics(text) {
  const out = new Map();
  for (const line of text.split('\n')) {
    const match = /^(?:veloce:|llamacpp:)?([a-zA-Z_][\w]*)(?:\{[^}]*\})?\s+(\S+)/.exec(line);
    if (!match || line.startsWith('#') || line.startsWith('llamacpp:')) continue;
    const value = Number(match[2]);
    if (Number.isFinite(value)) out.set(match[1], (out.get(match[1]) ?? 0) + value);
  }
  return out;
}

export class ServerStatus {
  state = 'connecting';   // connecting, ready, loading, away
  props = null;

  // `changed()` after each check.
  constructor(changed) { this.changed = changed; }

  get modelName() {
    const {model_alias: alias, model_path: path} = this.props ?? {};
    return alias || (path ?? '').split('/').pop().replace(/\.gguf$/, '') || 'Model';
  }
  get context() { return this.props?.default_generation_settings?.n_ctx ?? 0; }
  get takesImages() { return this.props?.modalities?.vision === true; }

  async check() {
    clearTimeout(this.timer);
    const before = this.state;
    try {
      await getJson('health');
      // Whoever closed the question for the key is not asked again and again.
      // A server that was away may have come back with another model.
      if (!this.props || before !== 'ready') this.props = await getJson('props', {quiet: before === 'locked'});
      this.state = 'ready';
    } catch (error) {
      this.state = error instanceof ApiError && error.loading ? 'loading' : error.status === 401 ? 'locked' : 'away';
    }
    this.timer = setTimeout(() => { if (!document.hidden) this.check(); else this.wait(); }, this.state === 'ready' || this.state === 'locked' ? kCheckEvery : kRetryEvery);
    this.changed();
  }
  wait() { document.addEventListener('visibilitychange', () => this.check(), {once: true}); }

  words() {
    return {connecting: 'Connecting', ready: 'Ready', loading: 'Loading the model', locked: 'Needs an API key', away: 'Not reachable'}[this.state];
  }

  open() {
    let timer, open = true;
    const parts = {};
    const look = async () => {
      await this.look(parts);
      if (open) timer = setTimeout(look, kLookEvery);
    };
    return openDialog({
      title: 'Server', kind: 'panel',
      build: (body) => {
        for (const name of ['facts', 'speed', 'slots', 'note']) body.append(parts[name] = el('section', {class: 'status-' + name}));
        look();
      },
    }).finally(() => { open = false; clearTimeout(timer); });
  }

  async look(parts) {
    const ask = (what, read) => read(what, {quiet: true}).catch((error) => error);
    const [, slots, metrics] = await Promise.all([this.check(), ask('slots', getJson), ask('metrics', getText)]);
    parts.facts.replaceChildren(this.facts());
    parts.speed.replaceChildren(...this.speed(metrics));
    parts.slots.replaceChildren(...this.slots(slots));
  }

  facts() {
    const rows = el('dl', {class: 'facts'});
    const add = (name, value) => { if (value) rows.append(el('div', {}, el('dt', {text: name}), el('dd', {text: value}))); };
    add('State', this.words());
    add('Model', this.modelName);
    add('Quantization', this.props?.model_ftype);
    add('Context of a slot', this.context ? `${count(this.context)} tokens` : '');
    add('Reads images', this.props ? (this.takesImages ? 'yes' : 'no') : '');
    add('Build', this.props?.build_info);
    return rows;
  }

  speed(metrics) {
    if (metrics instanceof Error) {
      return [el('h3', {text: 'Speed'}), el('p', {class: 'muted', text: metrics.status === 501 || metrics.status === 403
        ? 'The server was started without --metrics.' : metrics.message})];
    }
    const all = parseMetrics(metrics);
    const get = (name) => all.get(name) ?? 0;
    const tiles = el('dl', {class: 'tiles'});
    const add = (name, value, unit = '') => tiles.append(el('div', {}, el('dt', {text: name}), el('dd', {}, value, unit ? el('small', {text: ' ' + unit}) : null)));
    // Since the start: rates since the last look would mostly be those of no work at all.
    add('Writing', rate(get('tokens_predicted_total') / (get('tokens_predicted_seconds_total') || Infinity)), 'tok/s');
    add('Reading', rate(get('prompt_tokens_total') / (get('prompt_seconds_total') || Infinity)), 'tok/s');
    const cached = get('prompt_tokens_cached_total'), read = cached + get('prompt_tokens_total');
    add('From the cache', read ? `${Math.round(100 * cached / read)}` : '–', read ? '%' : '');
    const drafted = get('spec_decode_num_draft_tokens_total');
    if (drafted > 0) add('Drafts accepted', `${Math.round(100 * get('spec_decode_num_accepted_tokens_total') / drafted)}`, '%');
    add('Under way', count(get('requests_processing')));
    add('Waiting', count(get('requests_deferred')));
    add('Tokens written', count(get('tokens_predicted_total')));
    return [el('h3', {text: 'Since the start'}), tiles];
  }

  slots(slots) {
    const head = el('h3', {text: 'Slots'});
    if (slots instanceof Error) {
      return [head, el('p', {class: 'muted', text: slots.status === 501 || slots.status === 403 ? 'The server was started with --no-slots.' : slots.message})];
    }
    return [head, el('ul', {class: 'slots'}, ...slots.map((slot) => {
      const next = slot.next_token?.[0];
      const held = slot.n_tokens ?? (slot.n_prompt_tokens ?? 0) + (next?.n_decoded ?? 0);
      const words = !slot.is_processing ? (held ? 'Idle, keeps its text' : 'Idle') : next?.n_decoded > 0 ? `Writing, ${count(next.n_decoded)} tokens` : 'Reading the prompt';
      return el('li', {class: slot.is_processing ? 'busy' : ''},
        el('span', {text: `Slot ${slot.id}`}), el('span', {class: 'muted', text: words + (slot.speculative ? ', speculative' : '')}),
        el('meter', {min: '0', max: String(slot.n_ctx || 1), value: String(held), 'aria-label': `Context of slot ${slot.id} in use`}),
        el('span', {class: 'muted numbers', text: `${count(held)} / ${count(slot.n_ctx)}`}));
    }))];
  }
}

export function showServer(status) {
  $('server-dot').className = 'dot ' + status.state;
  $('server-name').textContent = status.props ? status.modelName : status.words();
  if ($('server-state').textContent !== status.words()) $('server-state').textContent = `Server: ${status.words()}`;
  $('open-status').title = `Server: ${status.words()}`;
}
