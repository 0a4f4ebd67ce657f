// The dialog of a chat's settings.
import {el, openDialog, textButton, toast} from './dom.js';
import {cleanSettings, kFields, saveDefaults} from './settings.js';

let serial = 0;

function labelled(label, control, help = '') {
  control.id = `setting-${++serial}`;
  const row = el('div', {class: 'setting'}, el('label', {for: control.id, text: label}), control);
  if (help) {
    const note = el('small', {id: control.id + '-help', class: 'muted', text: help});
    control.setAttribute('aria-describedby', note.id);
    row.append(note);
  }
  return row;
}

function numberField({field, label, help, min, max, step, integer, from}, settings, defaults) {
  const value = defaults[from ?? field];
  const known = typeof value === 'number' ? String(Math.round(value * 10000) / 10000) : '';
  // step="any": the arrows' step is no limit to what may be typed.
  const input = el('input', {type: 'number', name: field, min, max, step: integer ? 1 : 'any', inputmode: 'decimal',
    placeholder: known ? `${known} (server)` : 'server', value: settings[field] ?? ''});
  if (!integer) {
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
      event.preventDefault();
      const now = input.value === '' ? Number(known || 0) : Number(input.value);
      const next = Math.min(max, Math.max(min, now + (event.key === 'ArrowUp' ? step : -step)));
      input.value = String(Math.round(next * 1000) / 1000);
    });
  }
  return labelled(label, input, help);
}

function extraFault(text) {
  if (text.trim() === '') return '';
  try {
    const value = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'This must be a JSON object, such as {"mirostat": 2}.';
    const taken = ['messages', 'prompt', 'stream', 'n', 'tools', 'stream_options'].find((name) => name in value);
    return taken ? `“${taken}” is the page's own and cannot be set here.` : '';
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
}

function build(form, settings, props) {
  const defaults = props?.default_generation_settings?.params ?? {};
  form.append(labelled('System prompt', el('textarea', {name: 'system', rows: '4', value: settings.system ?? '',
    placeholder: 'How the model should behave in this chat'})));
  const main = el('div', {class: 'setting-grid'}), more = el('div', {class: 'setting-grid'});
  for (const field of kFields) (field.more ? more : main).append(numberField(field, settings, defaults));
  const option = (value, text) => el('option', {value, text, selected: (settings.thinking ?? '') === value});
  const thinking = el('select', {name: 'thinking'}, option('', 'As the model does'), option('on', 'On'), option('off', 'Off'),
    option('low', 'Low effort'), option('medium', 'Medium effort'), option('high', 'High effort'));
  main.append(labelled('Thinking', thinking, 'Where the model can think before it answers'),
    labelled('Thinking budget', el('input', {type: 'number', name: 'budget', min: '-1', step: '1', placeholder: 'server', value: settings.budget ?? ''}), 'Most tokens of thinking; -1 is no limit'));
  const extra = el('textarea', {name: 'extra', rows: '3', spellcheck: 'false', class: 'code', value: settings.extra ?? '', placeholder: '{"grammar": "…"}'});
  extra.addEventListener('input', () => extra.setCustomValidity(extraFault(extra.value)));
  const rest = el('details', {class: 'more-settings'}, el('summary', {text: 'More'}), more,
    labelled('Stop at', el('textarea', {name: 'stop', rows: '2', value: settings.stop ?? '', spellcheck: 'false'}), 'One text a line; \\n stands for a new line'),
    labelled('Other request fields', extra, 'A JSON object that is merged into each request'));
  rest.open = [...more.querySelectorAll('input')].some((input) => input.value !== '') || Boolean(settings.extra || settings.stop);
  form.append(main, rest);
}

function read(form) {
  const out = {};
  for (const input of form.querySelectorAll('[name]')) {
    if (input.value === '') continue;
    out[input.name] = input.type === 'number' ? Number(input.value) : input.value;
  }
  return cleanSettings(out);
}

// The settings that the user saved, or undefined.
export function openSettings(settings, props, title) {
  const form = el('form', {class: 'settings', novalidate: false});
  const valid = () => {
    // A field that is wrong may be folded away.
    if (!form.checkValidity()) form.querySelector('details').open = true;
    return form.reportValidity();
  };
  return openDialog({
    title, kind: 'wide',
    build: (body, close) => {
      build(form, settings, props);
      form.addEventListener('submit', (event) => { event.preventDefault(); if (valid()) close(read(form)); });
      body.append(form);
    },
    footer: (foot, close) => foot.append(
      textButton('Reset', () => {
        for (const input of form.querySelectorAll('[name]')) { input.value = ''; input.setCustomValidity(''); }
      }, 'plain'),
      textButton('Use for new chats', () => {
        if (!valid()) return;
        saveDefaults(read(form));
        toast('New chats begin with these settings');
      }, 'plain'),
      el('span', {class: 'spring'}),
      textButton('Cancel', () => close(undefined)),
      textButton('Save', () => { if (valid()) close(read(form)); }, 'primary')),
  });
}

// Asks for the API key: {key, keep}, or undefined.
export function openKeyDialog(wrong) {
  const form = el('form', {class: 'settings'});
  const key = el('input', {type: 'password', autocomplete: 'current-password', required: true, spellcheck: 'false'});
  const keep = el('input', {type: 'checkbox', id: 'keep-key'});
  return openDialog({
    title: 'API key', kind: 'small',
    build: (body, close) => {
      form.append(el('p', {text: wrong ? 'The server does not know this key. Try another.' : 'This server wants an API key.'}),
        labelled('Key', key), el('label', {class: 'check', for: 'keep-key'}, keep, 'Keep it in this browser'));
      form.addEventListener('submit', (event) => { event.preventDefault(); close({key: key.value, keep: keep.checked}); });
      body.append(form);
      setTimeout(() => key.focus());
    },
    footer: (foot, close) => foot.append(textButton('Cancel', () => close(undefined)), textButton('Use key', () => form.requestSubmit(), 'primary')),
  });
}
