import { type ContentOptions, defined, referencesOf, short } from '../../sdk/actions/content.ts'
import type { RecordOptions } from '../../sdk/notarizer/items.ts'
import { utf8Encode } from '../../src/proof/bytes.ts'
import { contentAt, type Message, valueAt } from '../calls/message.ts'

/** A record of one event. */
export type HookRecord = {
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly options: RecordOptions
  /** Whether the agent can be kept from doing it. */
  readonly isBefore: boolean
}

export type RecordingOptions = Pick<ContentOptions, 'keep' | 'sha256'> & {
  /** The deed waits until the record is in the ledger. */
  readonly held: boolean
  readonly framework: string | undefined
}

type Event = {
  readonly message: Message
  readonly recording: RecordingOptions
  readonly session: string | undefined
  readonly get: (...names: string[]) => unknown
}

/**
 * The record of an event, as a coding agent tells it to its hooks: Claude Code's names, and those of Gemini CLI and Cursor for the same. An
 * event that nobody knows here becomes an action of kind `other`. null: the message is no event at all.
 */
export function recordOf(message: Message, recording: RecordingOptions): HookRecord | null {
  const get = (...names: string[]) =>
    names.map((name) => valueAt(message.value, [name])).find((value) => value !== undefined && value !== null)
  const name = short(get('hook_event_name', 'hookEventName', 'event'), 128)
  if (name === undefined) return null
  const session = short(get('session_id', 'sessionId', 'conversation_id'), 256)
  const event = { message, recording, session, get }
  return (EVENTS[name.replaceAll(/[^A-Za-z]/g, '').toLowerCase()] ?? otherEvent(name))(event)
}

const before = (event: Event) => action(event, toolCall(event), ['tool_input'])
const after = (event: Event) =>
  outcome(event, toolCall(event), { status: 'ok' }, ['tool_response', 'tool_output'])

const EVENTS: Readonly<Record<string, (event: Event) => HookRecord>> = {
  pretooluse: before,
  beforetool: before,
  posttooluse: after,
  aftertool: after,
  posttoolusefailure: (event) =>
    outcome(
      event,
      toolCall(event),
      { status: 'error', error: short(event.get('error', 'error_message'), 4096) },
      [],
    ),
  permissionrequest: (event) => approval(event, { decision: 'escalate' }),
  permissiondenied: (event) => approval(event, { decision: 'deny', why: short(event.get('reason'), 4096) }),
  subagentstart: (event) => action(event, subagent(event), []),
  subagentstop: (event) => outcome(event, subagent(event), { status: 'ok' }, []),
  sessionstart: (event) => action(event, sessionCall(event), []),
  sessionend: (event) => outcome(event, sessionCall(event), { status: 'ok' }, []),
}

type Call = {
  readonly kind: 'tool' | 'agent' | 'other'
  readonly name: string
  readonly server?: string | undefined
  readonly callId: string | undefined
  /** By which its outcome names it, and it names what it belongs to; undefined where the event does not say which it is. */
  readonly handle: string | undefined
  readonly within: string | undefined
}

function toolCall(event: Event): Call {
  const { get } = event
  const tool = short(get('tool_name', 'toolName'), 512) ?? 'unknown'
  // Names of MCP tools, as Claude Code has them.
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? []
  const callId = short(get('tool_use_id', 'toolUseId', 'tool_call_id'), 256)
  const within = handleOf(event, 'agent', short(get('agent_id'), 256)) ?? sessionHandle(event)
  return { kind: 'tool', name: name ?? tool, server, callId, handle: handleOf(event, 'tool', callId), within }
}

function subagent(event: Event): Call {
  const callId = short(event.get('agent_id'), 256)
  const name = short(event.get('agent_type'), 512) ?? 'subagent'
  return {
    kind: 'agent',
    name,
    callId,
    handle: handleOf(event, 'agent', callId),
    within: sessionHandle(event),
  }
}

function sessionCall(event: Event): Call {
  return {
    kind: 'agent',
    name: 'session',
    callId: undefined,
    handle: sessionHandle(event),
    within: undefined,
  }
}

function sessionHandle(event: Event): string | undefined {
  return handleOf(event, 'session', event.session)
}

/** Ids of others hold what they like: a handle has one form and length. */
function handleOf({ recording, session }: Event, kind: string, id: string | undefined): string | undefined {
  if (id === undefined) return undefined
  return `hook:${recording.sha256(utf8Encode(JSON.stringify([session, kind, id]))).slice(0, 32)}`
}

function action(event: Event, call: Call, path: readonly string[]): HookRecord {
  const payload = {
    ...members(event, call),
    ...firstContent(event, 'arguments', path),
    told: event.recording.held ? 'held' : 'before',
  }
  const options = { ...optionsOf(event, call), handle: call.handle, parentHandle: call.within }
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

function approval(event: Event, decided: { decision: string; why?: string | undefined }): HookRecord {
  const call = toolCall(event)
  const payload = {
    ...members(event, call),
    ...decided,
    by: { kind: 'policy' },
    ...firstContent(event, 'arguments', ['tool_input'], decided.why),
  }
  return following('approval/1', event, call, payload)
}

/** Below the action, or if the event does not say which it is, beside it. */
function following(
  type: string,
  event: Event,
  call: Call,
  payload: Readonly<Record<string, unknown>>,
): HookRecord {
  const options = { ...optionsOf(event, call), parentHandle: call.handle ?? call.within }
  return { type, payload, options, isBefore: false }
}

function otherEvent(name: string): (event: Event) => HookRecord {
  return (event) => {
    const call: Call = {
      kind: 'other',
      name,
      callId: undefined,
      handle: undefined,
      within: sessionHandle(event),
    }
    const content = contentAt('arguments', event.message, [], event.recording)
    return following('agent-action/1', event, call, { ...members(event, call), ...content, told: 'after' })
  }
}

/** Content of the first of these members that is there. */
function firstContent(
  { message, recording }: Event,
  name: 'arguments' | 'result',
  members: readonly string[],
  besides?: string,
) {
  const found = members.find((each) => valueAt(message.value, [each]) !== undefined)
  return found === undefined ? {} : contentAt(name, message, [found], { ...recording, besides })
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
