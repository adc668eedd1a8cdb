import type { TypeDefinition } from './definition.ts'

/*
 * Types for actions of agents, as OTLP, the MCP proxy, hooks and adapters record them (docs/guides/types.md). Each
 * schema accepts only the members that it lists, so that a misspelt member causes an error. All other information goes
 * into `attributes`. Everything in a payload is a claim of the agent that wrote the payload.
 */

const text = (maxLength: number, description: string) => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
})
const anyObject = (description: string) => ({ type: 'object', description })
const count = (description: string) => ({ type: 'integer', minimum: 0, description })
const closed = (required: readonly string[], properties: object) => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
})

/**
 * Digest of content, or the reason why there is no digest (docs/formats/content-digests.md). The digest has no salt, so
 * a reader of the payload can guess the content and check the guess. Therefore the chain contains only a salted digest
 * of the whole payload. The unsalted digest is part of the payload and is erased with it.
 */
const digestOf = (content: string) => ({
  anyOf: [
    closed(['sha256', 'of'], {
      sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      of: {
        enum: ['bytes', 'jcs', 'tagged-jcs', 'json'],
        description:
          'bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text',
      },
      length: count('number of those bytes'),
    }),
    closed(['of', 'why'], {
      of: { const: 'none' },
      why: {
        enum: ['no-form', 'cyclic', 'too-deep', 'too-large', 'unreadable'],
        description: 'why the value has no digest',
      },
    }),
  ],
  description: `SHA-256 of the ${content}, or why there is none`,
})

/** Members for content and for its digest. Both may be absent. */
const content = (name: string, what: string) => ({
  [name]: { description: `the ${what}: any JSON value` },
  [`${name}Digest`]: digestOf(what),
})

/** Members that identify a call and its agent. */
const CALL = {
  kind: {
    enum: ['tool', 'model', 'agent', 'other'],
    description: 'a call of a tool, of a model, of another agent (a handover, a subagent), or something else',
  },
  name: text(512, 'name of the tool, the model or the agent'),
  server: text(512, 'where that is: name or URL of an MCP server, host of an API'),
  callId: text(256, 'the call’s id, as the framework has it'),
  session: text(256, 'conversation, session or thread'),
  agent: text(256, 'name of the agent or subagent that acts'),
  framework: text(128, 'what told this, with its version: `claude-code/2.1`, `mcp-proxy`'),
}
const ATTRIBUTES = { attributes: anyObject('anything else') }

const OUTCOME = {
  status: {
    enum: ['ok', 'error', 'denied', 'unknown'],
    description: 'unknown: nobody saw how it ended, for the connection or the process was gone',
  },
  errorType: text(256, 'class or code of the error: never content'),
  error: text(4_096, 'text of the error, shortened: content'),
  errorDigest: digestOf('error’s text'),
  ...content('result', 'result'),
  durationMs: { type: 'number', minimum: 0 },
}

const RECORDED_AFTER = { const: 'after', description: 'it was told when it was done' }

/** Nanoseconds since 1970, as in OTLP. They are a text, because a JSON number cannot represent them exactly. */
const nanoseconds = { type: 'string', pattern: '^[0-9]{1,20}$', description: 'ns since 1970' }
const TRACE_ID = { type: 'string', pattern: '^[0-9a-f]{32}$' }
const SPAN_ID = { type: 'string', pattern: '^[0-9a-f]{16}$' }

/** Schema of a protobuf enum: a name from the list, or a number for a value that is newer than the list. */
const named = (names: readonly string[]) => ({
  anyOf: [{ enum: names }, { type: 'integer', minimum: names.length + 1 }],
})

const OTEL_ATTRIBUTES = {
  attributes: anyObject('attributes that are known to be metadata, or all of them'),
  digests: {
    type: 'object',
    additionalProperties: digestOf('attribute’s value'),
    description: 'digests of all other attributes',
  },
  droppedAttributesCount: count('attributes that the exporter left out'),
}
const OTEL_ORIGIN = {
  told: RECORDED_AFTER,
  replaced: digestOf(
    'list of the original values that this record replaces: U+FFFD in texts, integers beyond 2^53, NaN, -0, bytes',
  ),
  resource: anyObject('the process that sent it: `attributes`, `digests`, `schemaUrl`'),
  scope: anyObject('the library that made it: `name`, `version`, `attributes`, `digests`, `schemaUrl`'),
}
const EXPORTERS_DROP =
  'An exporter may sample, and drops what its queue does not hold: what is not here may have happened.'

export const AGENT_TYPES: readonly TypeDefinition[] = [
  {
    name: 'agent-action',
    version: 1,
    payloadSchema: {
      description: 'What an agent is about to do. Its outcome is a record with this one as its parent.',
      ...closed(['kind', 'name'], {
        ...CALL,
        ...content('arguments', 'arguments'),
        told: {
          enum: ['held', 'before', 'after'],
          description:
            'held: it begins when the ledger has this record; before: it may begin sooner; after: it was told when it was done',
        },
        ...ATTRIBUTES,
      }),
    },
  },
  {
    name: 'agent-outcome',
    version: 1,
    payloadSchema: {
      description: 'How an action ended. Its parent is the action.',
      ...closed(['status'], { ...OUTCOME, ...CALL, ...ATTRIBUTES }),
    },
  },
  {
    name: 'approval',
    version: 1,
    payloadSchema: {
      description: 'A decision about an action, by a person or a rule. Its parent is the action.',
      ...closed(['decision', 'by'], {
        decision: { enum: ['allow', 'deny', 'escalate'] },
        by: closed(['kind'], {
          kind: { enum: ['person', 'policy', 'agent', 'unknown'] },
          id: text(256, 'who or which one, as the system that asked knows it'),
        }),
        why: text(4_096, 'reason, or the rule that applied'),
        lasts: {
          enum: ['once', 'session', 'always'],
          description: 'what it holds for: this call, the rest of the session, every call like it',
        },
        ...CALL,
        ...content('arguments', 'arguments that were decided upon'),
        ...ATTRIBUTES,
      }),
    },
  },
  {
    name: 'mcp-call',
    version: 1,
    payloadSchema: {
      description:
        'A whole request of MCP with its answer, told when it was done: for requests that are not worth an action and an outcome, such as resources/read.',
      ...closed(['method', 'status', 'told'], {
        method: text(128, 'such as `resources/read`, `prompts/get`, `sampling/createMessage`'),
        told: RECORDED_AFTER,
        ...CALL,
        name: text(2_048, 'name or URI of what was asked for'),
        ...content('arguments', 'parameters of the request'),
        ...OUTCOME,
        ...ATTRIBUTES,
      }),
    },
  },
  {
    name: 'otel-span',
    version: 1,
    payloadSchema: {
      description: `A span of OpenTelemetry, told when it had ended. ${EXPORTERS_DROP}`,
      ...closed(['traceId', 'spanId', 'name', 'told'], {
        traceId: TRACE_ID,
        spanId: SPAN_ID,
        parentSpanId: SPAN_ID,
        traceState: { type: 'string' },
        flags: count('of W3C Trace Context; 1: sampled'),
        name: { type: 'string' },
        kind: named(['INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']),
        startTimeUnixNano: nanoseconds,
        endTimeUnixNano: nanoseconds,
        status: closed([], {
          code: named(['OK', 'ERROR']),
          message: { type: 'string' },
          messageDigest: digestOf('message'),
        }),
        ...OTEL_ATTRIBUTES,
        events: { type: 'array', items: { type: 'object' } },
        droppedEventsCount: count('events that the exporter left out'),
        links: { type: 'array', items: { type: 'object' } },
        droppedLinksCount: count('links that the exporter left out'),
        ...OTEL_ORIGIN,
      }),
    },
  },
  {
    name: 'otel-log',
    version: 1,
    payloadSchema: {
      description: `A log record of OpenTelemetry: an event, told when it had happened. ${EXPORTERS_DROP}`,
      ...closed(['told'], {
        timeUnixNano: nanoseconds,
        observedTimeUnixNano: nanoseconds,
        severityNumber: { type: 'integer', minimum: 1, description: '1 (TRACE) to 24 (FATAL4)' },
        severityText: { type: 'string' },
        eventName: { type: 'string' },
        ...content('body', 'body'),
        traceId: TRACE_ID,
        spanId: SPAN_ID,
        flags: count('of W3C Trace Context; 1: sampled'),
        ...OTEL_ATTRIBUTES,
        ...OTEL_ORIGIN,
      }),
    },
  },
]
