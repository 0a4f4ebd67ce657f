// What a chat may set: the fields, the defaults for new chats, and the request they make.
import {readLocal, writeLocal} from './local.js';

// `field`: the request's name. Empty means the server's default, which /props reports and the form shows.
export const kFields = [
  {field: 'temperature', label: 'Temperature', help: 'Higher is more varied, 0 always takes the likeliest token', min: 0, max: 5, step: 0.05},
  {field: 'top_p', label: 'Top-p', help: 'Smallest set of tokens with this probability together; 1 is off', min: 0, max: 1, step: 0.01},
  {field: 'top_k', label: 'Top-k', help: 'The k likeliest tokens; 0 is off', min: 0, max: 100000, step: 1, integer: true},
  {field: 'min_p', label: 'Min-p', help: 'At least this share of the likeliest token; 0 is off', min: 0, max: 1, step: 0.01},
  {field: 'max_tokens', label: 'Max tokens', help: 'Longest answer; -1 is until it ends', min: -1, max: 10000000, step: 1, integer: true, from: 'n_predict'},
  {field: 'seed', label: 'Seed', help: 'The same seed gives the same answer; -1 is random', min: -1, max: 4294967295, step: 1, integer: true},
  {field: 'repeat_penalty', label: 'Repeat penalty', help: '1 is off', min: 0, max: 5, step: 0.01, more: true},
  {field: 'repeat_last_n', label: 'Repeat window', help: 'Tokens that penalties look at', min: 0, max: 100000, step: 1, integer: true, more: true},
  {field: 'presence_penalty', label: 'Presence penalty', help: '0 is off', min: -2, max: 2, step: 0.05, more: true},
  {field: 'frequency_penalty', label: 'Frequency penalty', help: '0 is off', min: -2, max: 2, step: 0.05, more: true},
  {field: 'typical_p', label: 'Typical-p', help: '1 is off', min: 0, max: 1, step: 0.01, more: true},
  {field: 'top_n_sigma', label: 'Top-n-sigma', help: '-1 is off', min: -1, max: 10, step: 0.1, more: true},
  {field: 'xtc_probability', label: 'XTC probability', help: '0 is off', min: 0, max: 1, step: 0.01, more: true},
  {field: 'xtc_threshold', label: 'XTC threshold', help: 'Above 0.5 is off', min: 0, max: 1, step: 0.01, more: true},
  {field: 'dry_multiplier', label: 'DRY multiplier', help: '0 is off', min: 0, max: 10, step: 0.05, more: true},
];

const kKeys = ['system', 'thinking', 'budget', 'stop', 'extra'];

// Keeps what is known and well-formed; imports and old versions may hold anything.
export function cleanSettings(given) {
  const out = {};
  if (typeof given !== 'object' || given === null) return out;
  for (const {field, min, max, integer} of kFields) {
    const value = given[field];
    if (typeof value === 'number' && value >= min && value <= max && (!integer || Number.isInteger(value))) out[field] = value;
  }
  for (const key of kKeys) if (typeof given[key] === 'string' && given[key] !== '') out[key] = given[key];
  if (Number.isInteger(given.budget) && given.budget >= -1) out.budget = given.budget;
  return out;
}

export function defaultSettings() {
  try { return cleanSettings(JSON.parse(readLocal('defaults') ?? '{}')); } catch { return {}; }
}
export const saveDefaults = (settings) => writeLocal('defaults', JSON.stringify(cleanSettings(settings)));

// The fields that a chat's settings add to its requests.
export function requestFields(settings) {
  let out = {};
  if (settings.extra) {
    try { out = JSON.parse(settings.extra); } catch { out = {}; }
  }
  for (const {field} of kFields) if (settings[field] !== undefined) out[field] = settings[field];
  if (settings.thinking === 'on' || settings.thinking === 'off') {
    out.chat_template_kwargs = {...out.chat_template_kwargs, enable_thinking: settings.thinking === 'on'};
  } else if (settings.thinking) {
    out.reasoning_effort = settings.thinking;
  }
  if (settings.budget !== undefined && settings.budget >= 0) out.reasoning_budget_tokens = settings.budget;
  const stops = (settings.stop ?? '').split('\n').filter((line) => line !== '').map((line) => line.replaceAll('\\n', '\n'));
  if (stops.length) out.stop = stops;
  // An imported chat may hold what the form refuses.
  for (const own of ['messages', 'prompt', 'stream', 'n', 'tools']) delete out[own];
  return out;
}

// One line for the button under the message field.
export function settingsSummary(settings) {
  const parts = [];
  if (settings.system) parts.push('System prompt');
  if (settings.temperature !== undefined) parts.push(`Temp ${settings.temperature}`);
  const others = Object.keys(settings).length - parts.length;
  if (others > 0) parts.push(parts.length ? `+${others}` : `${others} changed`);
  return parts.join(' · ');
}
