// Made by `npm run docs` from /openapi.json; not to be edited.

/** Types that every ledger has (docs/types.md). */
export type BuiltInTypes = {
  /** digest 8784b47f758c04ce65323023de0144271418e793abc41040ea635f04d9cd3cdb */
  "agent-action/1": {
    payload: {
      /** a call of a tool, of a model, of another agent (a handover, a subagent), or something else */
      kind: "tool" | "model" | "agent" | "other"
      /** name of the tool, the model or the agent */
      name: string
      /** where that is: name or URL of an MCP server, host of an API */
      server?: string
      /** the call’s id, as the framework has it */
      callId?: string
      /** conversation, session or thread */
      session?: string
      /** name of the agent or subagent that acts */
      agent?: string
      /** what told this, with its version: `claude-code/2.1`, `mcp-proxy` */
      framework?: string
      /** the arguments: any JSON value */
      arguments?: unknown
      /** SHA-256 of the arguments: of its RFC 8785 form in UTF-8 (jcs), or of its bytes as they were passed (bytes; a text in UTF-8) */
      argumentsDigest?: {
        sha256: string
        of: "jcs" | "bytes"
        /** number of those bytes */
        length?: number
      }
      /** held: it begins when the ledger has this record; before: it may begin sooner; after: it was told when it was done */
      told?: "held" | "before" | "after"
      /** anything else */
      attributes?: object
    }
  }
  /** digest 2bdc05b3f508d64d1bcbfa2347a6552a29330827a52dc9201c5cf7b674cb3955 */
  "agent-outcome/1": {
    payload: {
      /** unknown: nobody saw how it ended, for the connection or the process was gone */
      status: "ok" | "error" | "denied" | "unknown"
      /** class or code of the error */
      errorType?: string
      /** what went wrong, shortened */
      error?: string
      /** the result: any JSON value */
      result?: unknown
      /** SHA-256 of the result: of its RFC 8785 form in UTF-8 (jcs), or of its bytes as they were passed (bytes; a text in UTF-8) */
      resultDigest?: {
        sha256: string
        of: "jcs" | "bytes"
        /** number of those bytes */
        length?: number
      }
      durationMs?: number
      /** a call of a tool, of a model, of another agent (a handover, a subagent), or something else */
      kind?: "tool" | "model" | "agent" | "other"
      /** name of the tool, the model or the agent */
      name?: string
      /** where that is: name or URL of an MCP server, host of an API */
      server?: string
      /** the call’s id, as the framework has it */
      callId?: string
      /** conversation, session or thread */
      session?: string
      /** name of the agent or subagent that acts */
      agent?: string
      /** what told this, with its version: `claude-code/2.1`, `mcp-proxy` */
      framework?: string
      /** anything else */
      attributes?: object
    }
  }
  /** digest ed3e4c96195048c46712624b8935370b696e7a53d2666dbee08be3eabcedc93a */
  "approval/1": {
    payload: {
      decision: "allow" | "deny" | "escalate"
      by: {
        kind: "person" | "policy" | "agent" | "unknown"
        /** who or which one, as the system that asked knows it */
        id?: string
      }
      /** reason, or the rule that applied */
      why?: string
      /** what it holds for: this call, the rest of the session, every call like it */
      lasts?: "once" | "session" | "always"
      /** a call of a tool, of a model, of another agent (a handover, a subagent), or something else */
      kind?: "tool" | "model" | "agent" | "other"
      /** name of the tool, the model or the agent */
      name?: string
      /** where that is: name or URL of an MCP server, host of an API */
      server?: string
      /** the call’s id, as the framework has it */
      callId?: string
      /** conversation, session or thread */
      session?: string
      /** name of the agent or subagent that acts */
      agent?: string
      /** what told this, with its version: `claude-code/2.1`, `mcp-proxy` */
      framework?: string
      /** the arguments that were decided upon: any JSON value */
      arguments?: unknown
      /** SHA-256 of the arguments that were decided upon: of its RFC 8785 form in UTF-8 (jcs), or of its bytes as they were passed (bytes; a text in UTF-8) */
      argumentsDigest?: {
        sha256: string
        of: "jcs" | "bytes"
        /** number of those bytes */
        length?: number
      }
      /** anything else */
      attributes?: object
    }
  }
  /** digest 20208ff671aab29b84fcb489268d6415c9cc61de21368b52256d9a15512ae6dc */
  "generic/1": {
    payload: object
  }
  /** digest e86183cd0375763301bcf82766c672a5359b850a7d7dcec6599c868e91523814 */
  "mcp-call/1": {
    payload: {
      /** such as `resources/read`, `prompts/get`, `sampling/createMessage` */
      method: string
      /** it was told when it was done */
      told: "after"
      /** a call of a tool, of a model, of another agent (a handover, a subagent), or something else */
      kind?: "tool" | "model" | "agent" | "other"
      /** name or URI of what was asked for */
      name?: string
      /** where that is: name or URL of an MCP server, host of an API */
      server?: string
      /** the call’s id, as the framework has it */
      callId?: string
      /** conversation, session or thread */
      session?: string
      /** name of the agent or subagent that acts */
      agent?: string
      /** what told this, with its version: `claude-code/2.1`, `mcp-proxy` */
      framework?: string
      /** the parameters of the request: any JSON value */
      arguments?: unknown
      /** SHA-256 of the parameters of the request: of its RFC 8785 form in UTF-8 (jcs), or of its bytes as they were passed (bytes; a text in UTF-8) */
      argumentsDigest?: {
        sha256: string
        of: "jcs" | "bytes"
        /** number of those bytes */
        length?: number
      }
      /** unknown: nobody saw how it ended, for the connection or the process was gone */
      status: "ok" | "error" | "denied" | "unknown"
      /** class or code of the error */
      errorType?: string
      /** what went wrong, shortened */
      error?: string
      /** the result: any JSON value */
      result?: unknown
      /** SHA-256 of the result: of its RFC 8785 form in UTF-8 (jcs), or of its bytes as they were passed (bytes; a text in UTF-8) */
      resultDigest?: {
        sha256: string
        of: "jcs" | "bytes"
        /** number of those bytes */
        length?: number
      }
      durationMs?: number
      /** anything else */
      attributes?: object
    }
  }
  /** digest e368316351060defde4a0050798844d3e978740bc3d39fba38c09a83a0e68024 */
  "otel-log/1": {
    payload: {
      /** ns since 1970 */
      timeUnixNano?: string
      /** ns since 1970 */
      observedTimeUnixNano?: string
      severityNumber?: number
      severityText?: string
      eventName?: string
      /** the body: any JSON value */
      body?: unknown
      /** SHA-256 of the body: of its RFC 8785 form in UTF-8 (jcs), or of its bytes as they were passed (bytes; a text in UTF-8) */
      bodyDigest?: {
        sha256: string
        of: "jcs" | "bytes"
        /** number of those bytes */
        length?: number
      }
      traceId?: string
      spanId?: string
      /** of W3C Trace Context; 1: sampled */
      flags?: number
      /** as the exporter sent them */
      attributes?: object
      /** attributes with content, of which only digests are kept */
      digests?: {
        [name: string]: {
          sha256: string
          of: "jcs" | "bytes"
          /** number of those bytes */
          length?: number
        }
      }
      /** attributes that the exporter left out */
      droppedAttributesCount?: number
      /** it was told when it was done */
      told: "after"
      /** the process that told it: `attributes`, `schemaUrl` */
      resource?: object
      /** the library that told it: `name`, `version`, `attributes`, `schemaUrl` */
      scope?: object
    }
  }
  /** digest 82b49ecbaae09547b52213660eda2dc8ac4852eeddb39b07fd764be0f7b3664d */
  "otel-span/1": {
    payload: {
      traceId: string
      spanId: string
      parentSpanId?: string
      traceState?: string
      /** of W3C Trace Context; 1: sampled */
      flags?: number
      name: string
      kind?: "INTERNAL" | "SERVER" | "CLIENT" | "PRODUCER" | "CONSUMER"
      /** ns since 1970 */
      startTimeUnixNano?: string
      /** ns since 1970 */
      endTimeUnixNano?: string
      status?: {
        code?: "OK" | "ERROR"
        message?: string
      }
      /** as the exporter sent them */
      attributes?: object
      /** attributes with content, of which only digests are kept */
      digests?: {
        [name: string]: {
          sha256: string
          of: "jcs" | "bytes"
          /** number of those bytes */
          length?: number
        }
      }
      /** attributes that the exporter left out */
      droppedAttributesCount?: number
      events?: Array<object>
      /** events that the exporter left out */
      droppedEventsCount?: number
      links?: Array<object>
      /** links that the exporter left out */
      droppedLinksCount?: number
      /** it was told when it was done */
      told: "after"
      /** the process that told it: `attributes`, `schemaUrl` */
      resource?: object
      /** the library that told it: `name`, `version`, `attributes`, `schemaUrl` */
      scope?: object
    }
  }
  /** digest 0d95c03348823feafcef8660f17ab5894b81ce428c2869b4949451703e81e260 */
  "task/1": {
    payload: object
    evidence: object
  }
}
