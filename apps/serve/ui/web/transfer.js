// Chats as files: JSON with whole trees, Markdown with the path that is shown; and both read back.
import {cleanSettings} from './settings.js';
import {newId, newestLeaf, pathTo, titleFrom} from './tree.js';

const kFormat = 'veloce-chats', kVersion = 1;
const kLargest = 256 * 1024 * 1024, kMostMessages = 200000;

const kStates = new Set(['done', 'stopped', 'length', 'error']);
const text = (value) => (typeof value === 'string' ? value : '');
const time = (value) => (Number.isFinite(value) && value > 0 && value < 8.64e15 ? value : Date.now());

export function toJson(entries) {
  return JSON.stringify({format: kFormat, version: kVersion, exported: new Date().toISOString(),
    chats: entries.map(({chat, messages}) => ({...chat, messages: [...messages.values()]}))}, null, 1) + '\n';
}

// Marks that survive a Markdown viewer unseen and tell where a message begins. A line of a message that looks like one
// gets a backslash.
const kMark = /^<!-- veloce:(system|user|assistant) -->$/;
const kNames = {system: 'System', user: 'You', assistant: 'Answer'};
const guard = (content) => content.replace(/^(\\*<!-- veloce:)/gm, '\\$1');
const unguard = (content) => content.replace(/^\\(\\*<!-- veloce:)/gm, '$1');

export function toMarkdown(chat, messages) {
  const out = [`# ${chat.title}\n`];
  const add = (role, content, note = '') => out.push(`<!-- veloce:${role} -->\n## ${kNames[role]}\n\n${note}${guard(content)}\n`);
  if (chat.settings?.system) add('system', chat.settings.system);
  for (const message of pathTo(messages, chat.leaf)) {
    const images = (message.images ?? []).map((image) => `*[image: ${image.name.replace(/[\[\]*]/g, '')}]*\n\n`).join('');
    add(message.role, message.content, images);
  }
  return out.join('\n');
}

export const fileName = (title, extension) => `${title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'chat'}.${extension}`;

function cleanImages(images) {
  if (!Array.isArray(images)) return undefined;
  const good = images.filter((image) => /^data:image\/(png|jpeg|gif|bmp|webp);base64,[A-Za-z0-9+/=]*$/.test(text(image?.data)));
  return good.length ? good.map((image) => ({name: text(image.name).slice(0, 200) || 'image', type: text(image.type).slice(0, 40), data: image.data})) : undefined;
}

function cleanTimings(timings) {
  if (typeof timings !== 'object' || timings === null) return undefined;
  const numbers = Object.entries(timings).filter(([, value]) => Number.isFinite(value));
  return numbers.length ? Object.fromEntries(numbers.slice(0, 40)) : undefined;
}

function cleanMessage(given, chat, ids) {
  const message = {id: ids.get(given.id), chat: chat.id, parent: ids.get(given.parent) ?? null, role: given.role,
    content: text(given.content), created: time(given.created), state: kStates.has(given.state) ? given.state : 'done'};
  if (text(given.reasoning)) message.reasoning = given.reasoning;
  if (Number.isFinite(given.thoughtMs)) message.thoughtMs = given.thoughtMs;
  if (text(given.model)) message.model = given.model.slice(0, 200);
  if (message.state === 'error') message.error = {message: text(given.error?.message) || 'It failed.', type: text(given.error?.type)};
  const images = cleanImages(given.images), timings = cleanTimings(given.timings);
  if (images) message.images = images;
  if (timings) message.timings = timings;
  if (Array.isArray(given.calls)) message.calls = given.calls.filter(Boolean).map((call) => ({name: text(call.name), arguments: text(call.arguments)}));
  return message;
}

// New ids throughout, so that an import never writes over what is there.
function cleanChat(given) {
  const sources = given.messages.filter((message) => typeof message === 'object' && message !== null &&
    typeof message.id === 'string' && (message.role === 'user' || message.role === 'assistant'));
  const ids = new Map(sources.map((message) => [message.id, newId()]));
  const chat = {id: newId(), title: text(given.title).slice(0, 200) || 'Imported chat', created: time(given.created),
    updated: time(given.updated), settings: cleanSettings(given.settings), leaf: null};
  const messages = new Map();
  for (const source of sources) messages.set(ids.get(source.id), cleanMessage(source, chat, ids));
  cutLoops(messages);
  chat.leaf = ids.get(given.leaf) ?? newestLeaf(messages, null);
  return {chat, messages};
}

// A damaged file may hold messages that are their own ancestors; they would make endless walks.
function cutLoops(messages) {
  const good = new Set();
  for (const start of messages.values()) {
    const walk = new Set();
    for (let at = start; at && !good.has(at.id); at = messages.get(at.parent)) {
      walk.add(at.id);
      if (walk.has(at.parent)) at.parent = null;
    }
    for (const id of walk) good.add(id);
  }
}

// A plain list of {role, content}, as OpenAI's API and most tools have it.
function fromList(list, title = '') {
  const chat = {title, settings: {}, messages: []};
  let parent = null;
  list.forEach((entry, i) => {
    const content = typeof entry?.content === 'string' ? entry.content
      : Array.isArray(entry?.content) ? entry.content.map((part) => text(part?.text)).filter(Boolean).join('\n') : '';
    if (entry?.role === 'system' || entry?.role === 'developer') chat.settings.system = content;
    if (entry?.role !== 'user' && entry?.role !== 'assistant') return;
    chat.messages.push({id: String(i), parent, role: entry.role, content, reasoning: text(entry.reasoning_content), created: Date.now() + i});
    parent = String(i);
  });
  if (!chat.messages.length) throw new Error('The file holds no messages.');
  chat.title ||= titleFrom(chat.messages[0].content);
  return cleanChat(chat);
}

function fromMarkdown(content) {
  const list = [];
  let entry = null, title = '';
  for (const line of content.split(/\r?\n/)) {
    const mark = kMark.exec(line);
    if (mark) list.push(entry = {role: mark[1], lines: []});
    else if (entry) entry.lines.push(line);
    else title ||= line.replace(/^#\s*/, '').trim();
  }
  if (!list.length) throw new Error('This Markdown file was not exported here: it lacks the marks where messages begin.');
  return fromList(list.map(({role, lines}) => ({role, content: unguard(lines.slice(lines[0]?.startsWith('## ') ? 1 : 0).join('\n').trim())})), title.slice(0, 200));
}

// The chats in a file's text: [{chat, messages}]. Throws an Error that says what is wrong.
export function readChats(content) {
  if (content.length > kLargest) throw new Error('The file is too large.');
  if (!/^\s*[\[{]/.test(content)) return [fromMarkdown(content)];
  let data;
  try { data = JSON.parse(content); } catch (error) { throw new Error(`The file is not JSON: ${error.message}`); }
  if (Array.isArray(data)) return [fromList(data)];
  if (data.format === kFormat) {
    if (data.version > kVersion) throw new Error(`The file has version ${data.version}; this page reads up to ${kVersion}.`);
    const chats = Array.isArray(data.chats) ? data.chats.filter((chat) => Array.isArray(chat?.messages)) : [];
    if (!chats.length) throw new Error('The file holds no chats.');
    if (chats.reduce((sum, chat) => sum + chat.messages.length, 0) > kMostMessages) throw new Error('The file holds too many messages.');
    return chats.map(cleanChat);
  }
  if (Array.isArray(data.messages)) return [fromList(data.messages, text(data.title))];
  throw new Error('The file holds no chats.');
}
