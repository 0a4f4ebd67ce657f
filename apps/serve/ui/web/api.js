// The server's API as this page uses it: JSON requests, the event stream of a chat, and the API key.
import {readLocal, writeLocal} from './local.js';

export class ApiError extends Error {
  constructor(message, {status = 0, type = '', details = {}} = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.details = details;
  }
  get loading() { return this.status === 503 && /loading/i.test(this.message); }
}

let sessionKey = null;
export const apiKey = () => sessionKey ?? readLocal('key') ?? '';
export function setApiKey(key, keep) {
  sessionKey = key;
  writeLocal('key', keep && key ? key : null);
}

// Asked for a key when the server wants one; answers whether to try again.
let askForKey = async () => false;
export const onKeyNeeded = (ask) => { askForKey = ask; };
let asking = null;
function keyNeeded() {
  asking ??= askForKey().finally(() => { asking = null; });
  return asking;
}

async function errorOf(response) {
  let error = {};
  try { error = (await response.json()).error ?? {}; } catch { /* not JSON: the status is all there is */ }
  return new ApiError(error.message || `The server answered ${response.status} ${response.statusText}`,
                      {status: response.status, type: error.type ?? '', details: error});
}

async function send(path, {body, signal, quiet = false} = {}) {
  for (;;) {
    const used = apiKey();
    const headers = {};
    if (used) headers.Authorization = 'Bearer ' + used;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    let response;
    try {
      response = await fetch(new URL(path, document.baseURI), {
        method: body === undefined ? 'GET' : 'POST', headers, signal, cache: 'no-store', credentials: 'same-origin',
        body: body === undefined ? undefined : JSON.stringify(body)});
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError('The server cannot be reached.');
    }
    if (response.ok) return response;
    if (response.status === 401 && !quiet && (used !== apiKey() || await keyNeeded())) continue;
    throw await errorOf(response);
  }
}

export const getJson = async (path, options) => (await send(path, options)).json();
export const getText = async (path, options) => (await send(path, options)).text();

// The data of each server-sent event of a stream of bytes, as text.
export async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '', data = [];
  for (;;) {
    const {value, done} = await reader.read();
    if (done) break;
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (data.length) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
  }
}

// The chunks of a streamed chat completion, parsed. Throws ApiError, also for a stream that breaks off.
export async function* streamChat(body, signal) {
  const response = await send('v1/chat/completions', {body, signal});
  try {
    for await (const data of events(response.body)) {
      if (data === '[DONE]') return;
      const chunk = JSON.parse(data);
      if (chunk.error) {
        throw new ApiError(chunk.error.message, {status: chunk.error.code, type: chunk.error.type, details: chunk.error});
      }
      yield chunk;
    }
  } catch (error) {
    if (error instanceof ApiError || error.name === 'AbortError') throw error;
    throw new ApiError('The connection to the server broke off.');
  }
  throw new ApiError('The connection to the server broke off.');
}
