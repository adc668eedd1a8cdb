// Made by `npm run docs` from /openapi.json; not to be edited.

/** Types that every ledger has (docs/guides/types.md). */
export type BuiltInTypes = {
  /** digest b38b493a3bccc1a4768ae7b3e9536a71082365462aa2c7d4eefcc6ec4ced7b95 */
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
      /** SHA-256 of the arguments, or why there is none */
      argumentsDigest?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      /** held: it begins when the ledger has this record; before: it may begin sooner; after: it was told when it was done */
      told?: "held" | "before" | "after"
      /** anything else */
      attributes?: object
    }
  }
  /** digest 42b3fa531f0b20aade42dfbd4d6a2b1f09dd7d84ace669c16d255a533e00e26b */
  "agent-outcome/1": {
    payload: {
      /** unknown: nobody saw how it ended, for the connection or the process was gone */
      status: "ok" | "error" | "denied" | "unknown"
      /** class or code of the error: never content */
      errorType?: string
      /** text of the error, shortened: content */
      error?: string
      /** SHA-256 of the error’s text, or why there is none */
      errorDigest?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      /** the result: any JSON value */
      result?: unknown
      /** SHA-256 of the result, or why there is none */
      resultDigest?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
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
  /** digest 0b89f7f577243f02fca40b09a6f4f513547f3e10665d8d3bcdf85bbe1e227338 */
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
      /** SHA-256 of the arguments that were decided upon, or why there is none */
      argumentsDigest?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      /** anything else */
      attributes?: object
    }
  }
  /** digest 20208ff671aab29b84fcb489268d6415c9cc61de21368b52256d9a15512ae6dc */
  "generic/1": {
    payload: object
  }
  /** digest 2a564b170a3ac61f2d91bcdf5d9abbf0ed10f27fd077830b47666a203c2bc2c0 */
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
      /** SHA-256 of the parameters of the request, or why there is none */
      argumentsDigest?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      /** unknown: nobody saw how it ended, for the connection or the process was gone */
      status: "ok" | "error" | "denied" | "unknown"
      /** class or code of the error: never content */
      errorType?: string
      /** text of the error, shortened: content */
      error?: string
      /** SHA-256 of the error’s text, or why there is none */
      errorDigest?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      /** the result: any JSON value */
      result?: unknown
      /** SHA-256 of the result, or why there is none */
      resultDigest?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      durationMs?: number
      /** anything else */
      attributes?: object
    }
  }
  /** digest 592f1c341e1009f5e1de1658ab917787b5ce43e387414afb861736df1e8e3290 */
  "otel-log/1": {
    payload: {
      /** ns since 1970 */
      timeUnixNano?: string
      /** ns since 1970 */
      observedTimeUnixNano?: string
      /** 1 (TRACE) to 24 (FATAL4) */
      severityNumber?: number
      severityText?: string
      eventName?: string
      /** the body: any JSON value */
      body?: unknown
      /** SHA-256 of the body, or why there is none */
      bodyDigest?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      traceId?: string
      spanId?: string
      /** of W3C Trace Context; 1: sampled */
      flags?: number
      /** attributes that are known to be metadata, or all of them */
      attributes?: object
      /** digests of all other attributes */
      digests?: {
        [name: string]: 
          | {
              sha256: string
              /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
              of: "bytes" | "jcs" | "tagged-jcs" | "json"
              /** number of those bytes */
              length?: number
            }
          | {
              of: "none"
              /** why the value has no digest */
              why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
            }
      }
      /** attributes that the exporter left out */
      droppedAttributesCount?: number
      /** it was told when it was done */
      told: "after"
      /** SHA-256 of the list of the original values that this record replaces: U+FFFD in texts, integers beyond 2^53, NaN, -0, bytes, or why there is none */
      replaced?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      /** the process that sent it: `attributes`, `digests`, `schemaUrl` */
      resource?: object
      /** the library that made it: `name`, `version`, `attributes`, `digests`, `schemaUrl` */
      scope?: object
    }
  }
  /** digest 1ead4e9821cb4118c3facf07a91d0f2472810417620da93f9b355f8999383cb9 */
  "otel-span/1": {
    payload: {
      traceId: string
      spanId: string
      parentSpanId?: string
      traceState?: string
      /** of W3C Trace Context; 1: sampled */
      flags?: number
      name: string
      kind?: "INTERNAL" | "SERVER" | "CLIENT" | "PRODUCER" | "CONSUMER" | number
      /** ns since 1970 */
      startTimeUnixNano?: string
      /** ns since 1970 */
      endTimeUnixNano?: string
      status?: {
        code?: "OK" | "ERROR" | number
        message?: string
        /** SHA-256 of the message, or why there is none */
        messageDigest?: 
          | {
              sha256: string
              /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
              of: "bytes" | "jcs" | "tagged-jcs" | "json"
              /** number of those bytes */
              length?: number
            }
          | {
              of: "none"
              /** why the value has no digest */
              why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
            }
      }
      /** attributes that are known to be metadata, or all of them */
      attributes?: object
      /** digests of all other attributes */
      digests?: {
        [name: string]: 
          | {
              sha256: string
              /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
              of: "bytes" | "jcs" | "tagged-jcs" | "json"
              /** number of those bytes */
              length?: number
            }
          | {
              of: "none"
              /** why the value has no digest */
              why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
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
      /** SHA-256 of the list of the original values that this record replaces: U+FFFD in texts, integers beyond 2^53, NaN, -0, bytes, or why there is none */
      replaced?: 
        | {
            sha256: string
            /** bytes: a text in UTF-8; jcs: the RFC 8785 form of a JSON value; tagged-jcs: that of any other value, with its types; json: the bytes of a JSON text */
            of: "bytes" | "jcs" | "tagged-jcs" | "json"
            /** number of those bytes */
            length?: number
          }
        | {
            of: "none"
            /** why the value has no digest */
            why: "no-form" | "cyclic" | "too-deep" | "too-large" | "unreadable"
          }
      /** the process that sent it: `attributes`, `digests`, `schemaUrl` */
      resource?: object
      /** the library that made it: `name`, `version`, `attributes`, `digests`, `schemaUrl` */
      scope?: object
    }
  }
  /** digest 0d95c03348823feafcef8660f17ab5894b81ce428c2869b4949451703e81e260 */
  "task/1": {
    payload: object
    evidence: object
  }
}
