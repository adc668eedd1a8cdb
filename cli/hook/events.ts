import {
  type ContentOptions,
  defined,
  type ErrorMembers,
  referencesOf,
  short,
} from '../../sdk/actions/content.ts'
import type { RecordOptions } from '../../sdk/notarizer/items.ts'
import { utf8Encode } from '../../src/proof/bytes.ts'
import { contentAt, errorAt, type Message, valueAt } from '../calls/message.ts'
import { statusOfEnd, statusOfFailure, statusOfResponse } from './statuses.ts'

export type HookRecord = {
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly options: RecordOptions
  /** True if the hook can still deny the action. */
  readonly isBefore: boolean
}

export type RecordingOptions = Pick<ContentOptions, 'include' | 'sha256'> & {
  /** True if the action waits until its record is in the ledger (`--fail-closed`). */
  readonly failClosed: boolean
  readonly framework: string | undefined
}

type Event = {
  readonly message: Message
  readonly recording: RecordingOptions
  readonly session: string | undefined
  readonly get: (...names: string[]) => unknown
}

/**
 * Returns the record of a coding agent's event. It understands the event names of Claude Code, and those of Gemini
 * CLI and Cursor for the same events. An unknown event becomes an action of kind `other`. Returns null if the message
 * is not an event.
 */
export function recordOf(message: Message, recording: RecordingOptions): HookRecord | null {
  const get = (...names: string[]) =>
    names.map((name) => valueAt(message.value, [name])).find((value) => value !== undefined && value !== null)
  const name = short(get('hook_event_name', 'hookEventName', 'event'), 128)
  if (name === undefined) return null
  const session = short(get('session_id', 'sessionId', 'conversation_id'), 256)
  const event = { message, recording, session, get }
  const key = keyOf(name)
  const known = Object.hasOwn(EVENTS, key) ? EVENTS[key] : undefined
  return (known ?? otherEvent(name))(event)
}

const before = (event: Event) => action(event, toolCall(event), ['tool_input'])
const after = (event: Event) => {
  const tool = short(event.get('tool_name', 'toolName'), 512) ?? ''
  return outcome(event, toolCall(event), statusOfResponse(event.get(...RESPONSES), tool), RESPONSES)
}
const RESPONSES = ['tool_response', 'tool_output'] as const

const EVENTS: Readonly<Record<string, (event: Event) => HookRecord>> = {
  pretooluse: before,
  beforetool: before,
  posttooluse: after,
  aftertool: after,
  posttoolusefailure: (event) =>
    outcome(event, toolCall(event), { ...failure(event), ...statusOfFailure(event) }, []),
  permissionrequest: (event) => approval(event, { decision: 'escalate' }),
  permissiondenied: (event) => approval(event, { decision: 'deny', why: short(event.get('reason'), 4096) }),
  subagentstart: (event) => action(event, subagent(event), []),
  subagentstop: (event) => outcome(event, subagent(event), statusOfEnd(event), []),
  sessionstart: (event) => action(event, sessionCall(event), []),
  sessionend: (event) => outcome(event, sessionCall(event), statusOfEnd(event), []),
}

type Call = {
  readonly kind: 'tool' | 'agent' | 'other'
  readonly name: string
  readonly server?: string | undefined
  readonly callId: string | undefined
  /**
   * `handle` identifies the call, so that its outcome can name the call as its parent. `parentHandle`: handle of the
   * parent. Either is undefined if the event has no id for it.
   */
  readonly handle: string | undefined
  readonly parentHandle: string | undefined
}

function toolCall(event: Event): Call {
  const { get } = event
  const tool = short(get('tool_name', 'toolName'), 512) ?? 'unknown'
  // Claude Code puts server and tool into the name of an MCP tool. Gemini CLI has both in `mcp_context`.
  const [, ...named] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? []
  const [server = named[0], name = named[1]] = ['server_name', 'tool_name'].map((each) =>
    short(valueAt(get('mcp_context'), [each]), 512),
  )
  const callId = short(get('tool_use_id', 'toolUseId', 'tool_call_id'), 256)
  const within = handleOf(event, 'agent', short(get('agent_id'), 256)) ?? sessionHandle(event)
  return {
    kind: 'tool',
    name: name ?? tool,
    server,
    callId,
    handle: handleOf(event, 'tool', callId),
    parentHandle: within,
  }
}

function subagent(event: Event): Call {
  const callId = short(event.get('agent_id'), 256)
  const name = short(event.get('agent_type'), 512) ?? 'subagent'
  return {
    kind: 'agent',
    name,
    callId,
    handle: handleOf(event, 'agent', callId),
    parentHandle: sessionHandle(event),
  }
}

function sessionCall(event: Event): Call {
  return {
    kind: 'agent',
    name: 'session',
    callId: undefined,
    handle: sessionHandle(event),
    parentHandle: undefined,
  }
}

function sessionHandle(event: Event): string | undefined {
  return handleOf(event, 'session', event.session)
}

/** Returns a handle for an id. The id is hashed, because other programs' ids may have any form and length. */
function handleOf({ recording, session }: Event, kind: string, id: string | undefined): string | undefined {
  if (id === undefined) return undefined
  return `hook:${recording.sha256(utf8Encode(JSON.stringify([session, kind, id]))).slice(0, 32)}`
}

function action(event: Event, call: Call, path: readonly string[]): HookRecord {
  const payload = {
    ...members(event, call),
    ...firstContent(event, 'arguments', path),
    told: event.recording.failClosed ? 'held' : 'before',
  }
  const options = { ...optionsOf(event, call), handle: call.handle, parentHandle: call.parentHandle }
  return { type: 'agent-action/1', payload, options, isBefore: true }
}

function outcome(event: Event, call: Call, end: object, paths: readonly string[]): HookRecord {
  const durationMs = event.get('duration_ms')
  const payload = {
    ...members(event, call),
    ...end,
    ...firstContent(event, 'result', paths),
    ...(typeof durationMs === 'number' && durationMs >= 0 && { durationMs }),
  }
  return following('agent-outcome/1', event, call, payload)
}

/**
 * Returns the error members of a failed tool. The text counts as content, because it includes the output of a failed
 * command.
 */
function failure({ message, recording, get }: Event): ErrorMembers {
  const name = ['error', 'error_message'].find((each) => get(each) !== undefined)
  return name === undefined ? {} : errorAt(message, [name], recording)
}

function approval(event: Event, decided: { decision: string; why?: string | undefined }): HookRecord {
  const call = toolCall(event)
  const payload = {
    ...members(event, call),
    ...decided,
    by: { kind: 'policy' },
    ...firstContent(event, 'arguments', ['tool_input'], decided.why),
  }
  // An `escalate` comes before the action, so the hook can still deny the action.
  return { ...following('approval/1', event, call, payload), isBefore: decided.decision === 'escalate' }
}

/**
 * Makes a record whose parent is the action. If the event does not identify its action, the parent is the action's
 * parent.
 */
function following(
  type: string,
  event: Event,
  call: Call,
  payload: Readonly<Record<string, unknown>>,
): HookRecord {
  const options = { ...optionsOf(event, call), parentHandle: call.handle ?? call.parentHandle }
  return { type, payload, options, isBefore: false }
}

/**
 * Claude Code events that come before an action although their names do not begin with `pre`. Their hooks can deny the
 * action. The list does not contain `Stop` and `SubagentStop`, because denying a stop makes the agent continue.
 */
const BEFORE_KEYS: ReadonlySet<string> = new Set([
  'userpromptsubmit',
  'userpromptexpansion',
  'configchange',
  'taskcreated',
  'elicitation',
  'elicitationresult',
  'worktreecreate',
])

/**
 * Returns whether the event comes before its action and its hook can deny that action, such as Cursor's
 * `beforeShellExecution`. True if the first or last word of the name is `before` or `pre`, in camel case or with any
 * separator. A name of one word only has to begin with `before` or `pre`.
 */
function comesBeforeAction(name: string): boolean {
  if (BEFORE_KEYS.has(keyOf(name))) return true
  const words = name.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).filter(Boolean)
  const [first, last] = [words[0], words.at(-1)].map((word) => word?.toLowerCase())
  return [first, last].some((word) => word === 'before' || word === 'pre') || isOneWordBefore(words)
}

function isOneWordBefore(words: readonly string[]): boolean {
  return words.length === 1 && /^(?:before|pre)/i.test(words[0]!)
}

function keyOf(name: string): string {
  return name.replaceAll(/[^A-Za-z]/g, '').toLowerCase()
}

function otherEvent(name: string): (event: Event) => HookRecord {
  return (event) => {
    const call: Call = {
      kind: 'other',
      name,
      callId: undefined,
      handle: undefined,
      parentHandle: sessionHandle(event),
    }
    const content = contentAt('arguments', event.message, [], event.recording)
    const isBefore = comesBeforeAction(name)
    const before = event.recording.failClosed ? 'held' : 'before'
    const payload = { ...members(event, call), ...content, told: isBefore ? before : 'after' }
    return { ...following('agent-action/1', event, call, payload), isBefore }
  }
}

/** Returns the content of the first of these members that is present. */
function firstContent(
  { message, recording }: Event,
  name: 'arguments' | 'result',
  members: readonly string[],
  otherText?: string,
) {
  const found = members.find((each) => valueAt(message.value, [each]) !== undefined)
  return found === undefined
    ? {}
    : contentAt(name, message, [found], { ...recording, textInSameRecord: otherText })
}

function members(
  { get, session, recording }: Event,
  { kind, name, server, callId }: Call,
): Record<string, unknown> {
  const attributes = {
    event: short(get('hook_event_name', 'hookEventName', 'event'), 128),
    cwd: short(get('cwd'), 1024),
    permissionMode: short(get('permission_mode'), 128),
    source: short(get('source'), 128),
    reason: short(get('reason'), 1024),
  }
  const agent = short(get('agent_type'), 256)
  const { framework } = recording
  return defined({
    ...{ kind, name, server, callId, session, agent, framework },
    attributes: defined(attributes),
  })
}

function optionsOf({ get, session }: Event, { callId, kind }: Call): RecordOptions {
  const references = referencesOf({
    'gen_ai.conversation.id': session,
    [kind === 'tool' ? 'gen_ai.tool.call.id' : 'gen_ai.agent.id']: callId,
    ...(kind === 'tool' && { 'gen_ai.agent.id': short(get('agent_id'), 256) }),
  })
  return references.length === 0 ? {} : { references }
}
