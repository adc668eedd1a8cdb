import type { Span, SpanData, Trace } from '@openai/agents'
import type { Action, Outcome } from '@tallystick/sdk/actions'

/** A trace or a span that has begun. */
export type Node = {
  /**
   * Action of the span, or null if the span is not an action. Actions inside a span without an action belong to the
   * nearest action around that span.
   */
  action: Action | null
  readonly above: Node | null
  /** Name of the acting agent. */
  readonly agent: string | undefined
  readonly session: string | undefined
  isDenied: boolean
  /** True after a guarded tool has returned. */
  hasReturned: boolean
  /** Status of the action's outcome, or null while the action is open. */
  ended: Outcome['status'] | null
  /** True for a model call whose answer requests a tool of this process. */
  requestsTool: boolean
  /** The last tool, model or hand-over that began in this span or trace. */
  last: Node | null
  /** For a trace: outcome of its last run if that run failed, otherwise null. */
  failed: Outcome | null
}

/** Maximum number of stored traces and spans. Some of them never end. */
const NODES_MAX = 10_000

const FRAMES: readonly string[] = ['agent', 'guardrail', 'task', 'turn', 'custom']

/**
 * Returns whether a run stopped before its end: its last part did not end, or a model requested a tool that was never
 * called. The library ends a run without an error if its reader stopped, or if it waits for a person.
 */
export function hasStopped({ last }: Node): boolean {
  return last !== null && (last.ended === null || last.ended === 'unknown' || last.requestsTool)
}

/**
 * Maps the id of a span or a trace to its node. A trace stays in the map after its end. A run that waits for a person
 * ends its trace, and later continues in the same trace without a new start. Above the limit the oldest nodes are
 * removed.
 */
export class Runs {
  readonly #nodes = new Map<string, Node>()

  find(id: string): Node | undefined {
    return this.#nodes.get(id)
  }

  add(of: Trace | Span<SpanData>, action: Action | null, agent?: string): Node {
    const above = of.type === 'trace' ? null : this.above(of)
    const session = of.type === 'trace' ? (of.groupId ?? undefined) : above?.session
    const node: Node = {
      action,
      above,
      agent: agent ?? above?.agent,
      session,
      isDenied: false,
      hasReturned: false,
      ended: null,
      requestsTool: false,
      last: null,
      failed: null,
    }
    const isFrame = of.type === 'trace' || FRAMES.includes(of.spanData.type)
    for (let around = above; around && !isFrame; around = around.above) around.last = node
    this.#nodes.set(idOf(of), node)
    for (const oldest of this.#nodes.keys()) {
      if (this.#nodes.size <= NODES_MAX) break
      this.#nodes.delete(oldest)
    }
    return node
  }

  end({ spanId }: Span<SpanData>): void {
    this.#nodes.delete(spanId)
  }

  above({ parentId, traceId }: Span<SpanData>): Node | null {
    return (parentId === null ? undefined : this.#nodes.get(parentId)) ?? this.#nodes.get(traceId) ?? null
  }
}

/** Returns the action of this node or of the nearest node around it. Returns undefined if none of them is an action. */
export function actionAround(node: Node | null): Action | undefined {
  for (let found = node; found !== null; found = found.above) if (found.action !== null) return found.action
  return undefined
}

function idOf(of: Trace | Span<SpanData>): string {
  return of.type === 'trace' ? of.traceId : of.spanId
}
