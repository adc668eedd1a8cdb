import { short } from '../../sdk/actions/content.ts'
import { CLIENT_INFO, TOOL_USE_ID, VERSION_META } from './names.ts'

/*
 * Finds messages that a server could understand as another tool call (docs/integrations/mcp-proxy.md, "Messages with
 * two meanings"). Servers parse in different ways: Go's encoding/json ignores the case of names; others trim names,
 * drop `-` and `_`, or treat `__proto__` as a prototype. Messages here have already passed strict parsing (RFC 8259, no
 * duplicate name).
 */

const MESSAGE: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
const PARAMS = new Set(['name', 'arguments', '_meta', 'task', 'inputResponses', 'requestState'])
const META = new Set([
  TOOL_USE_ID,
  CLIENT_INFO,
  VERSION_META,
  'io.modelcontextprotocol/clientCapabilities',
  'progressToken',
  'traceparent',
  'tracestate',
])
/** Methods about tools that call no tool, in all versions of MCP. */
const OTHER_METHODS = new Set(['tools/list', 'notifications/tools/list_changed'])
/** Matches texts that contain nothing that a server could decode, such as `%6F`, and no look-alike characters. */
const PLAIN_METHOD = /^[A-Za-z0-9_$./:-]+$/
export const TOOL_NAME_CHARS_MAX = 512

type Members = Readonly<Record<string, unknown>>

/**
 * Returns null if every server sees the same tool call in a client's message as the proxy does. Otherwise returns the
 * reason why some server could see a different tool call. `message`: a value that parseJsonText has accepted, or an
 * element of a batch.
 */
export function ambiguityOf(message: unknown): string | null {
  if (!isObject(message)) return 'it is not an object'
  return ambiguityOfEnvelope(message) ?? ambiguityOfParams(message) ?? ambiguityOfRest(message)
}

function ambiguityOfEnvelope(message: Members): string | null {
  const unknown = Object.keys(message).find((name) => !MESSAGE.has(name))
  if (unknown !== undefined) return `JSON-RPC has no member ${shown(unknown)}`
  const { method } = message
  const isAnswer = 'result' in message || 'error' in message
  if (isAnswer === 'method' in message) return 'it is neither a request nor an answer, or both'
  if (isAnswer) return null
  if (typeof method !== 'string') return 'its method is not a string'
  return method !== 'tools/call' && (isLikeCall(method) || !PLAIN_METHOD.test(method))
    ? `some servers could read its method ${shown(method)} as tools/call`
    : null
}

function ambiguityOfParams({ method, params }: Members): string | null {
  const meta = isObject(params) ? params['_meta'] : undefined
  const like = likeOneOf(PARAMS, params) ?? likeOneOf(META, meta)
  if (like !== undefined) return `some servers could read its member ${shown(like)} as a member of MCP`
  if (method !== 'tools/call') return null
  if (!isObject(params)) return 'params of its tool call is not an object'
  const { name } = params
  return short(name, TOOL_NAME_CHARS_MAX) === name && name !== undefined
    ? null
    : `the name of its tool is not a string of 1 to ${TOOL_NAME_CHARS_MAX} characters`
}

/**
 * Checks the inner objects. A server that cuts lines elsewhere, such as at a carriage return or after 4,096 bytes,
 * could parse an inner object as a message.
 */
function ambiguityOfRest({ method: _, ...rest }: Members): string | null {
  const hides = hasText(rest, (name, text) => isLike('method', name) && isLikeCall(text))
  return hides ? 'an object inside it could be read as another tool call' : null
}

/**
 * Returns whether the client's answer contains uses of tools by its model (`tool_use`, in answers to
 * sampling/createMessage). The server then runs these tools. Arguments of a tool call do not count, because the
 * call's record has them.
 */
export function usesTools(message: unknown): boolean {
  if (!isObject(message)) return false
  const { method, params } = message
  const isCall = method === 'tools/call' && isObject(params)
  return hasText(isCall ? { ...params, arguments: null } : message, (_name, text) => isLike('tooluse', text))
}

function isObject(value: unknown): value is Members {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** Returns a member whose name is not in `names`, but that some server could treat as one of `names`. */
function likeOneOf(names: ReadonlySet<string>, value: unknown): string | undefined {
  if (!isObject(value)) return undefined
  const skeletons = new Set([...names].map(skeletonOf))
  return Object.keys(value).find(
    (name) => name === '__proto__' || (!names.has(name) && skeletons.has(skeletonOf(name))),
  )
}

/**
 * Returns the skeleton of a name, as the most lenient server compares names: its letters and digits, without case
 * (Unicode's simple and full folding), compatibility forms and marks. K (U+212A) becomes k, ſ (U+017F) becomes s, ı
 * and İ become i.
 */
export function skeletonOf(name: string): string {
  const folded = name.normalize('NFKD').toLowerCase().toUpperCase().toLowerCase()
  return folded.normalize('NFKD').replaceAll(/[^\p{L}\p{N}]/gu, '')
}

/**
 * Returns whether a server may take a method for a tool call: true also for tools.call, TOOLS/CALLS, callTool,
 * x/tools/call.
 */
function isLikeCall(text: string): boolean {
  return !OTHER_METHODS.has(text) && skeletonOf(text).includes('tool')
}

/**
 * Returns whether a text has this skeleton, which must be in lower case. The first character is compared first, because
 * most texts differ in it.
 */
function isLike(skeleton: string, text: string): boolean {
  // Finds the first letter, digit or non-ASCII character. Non-ASCII characters count, because some of them become
  // letters, such as U+24DC.
  const [first] = /[A-Za-z0-9]|\P{ASCII}/u.exec(text) ?? ['']
  return (first > '~' || first.toLowerCase() === skeleton[0]) && skeletonOf(text) === skeleton
}

/** Returns whether any string member of any object within the value passes the test. */
function hasText(value: unknown, test: (name: string, text: string) => boolean): boolean {
  if (Array.isArray(value)) return value.some((each) => hasText(each, test))
  if (!isObject(value)) return false
  return Object.entries(value).some(([name, member]) =>
    typeof member === 'string' ? test(name, member) : hasText(member, test),
  )
}

function shown(text: string): string {
  return JSON.stringify(short(text, 64) ?? '')
}
