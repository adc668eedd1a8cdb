import type { Span, SpanData, Trace } from '@openai/agents'
import type { Action } from '@tallystick/sdk/actions'

/** A trace or a span that has begun. */
export type Node = {
  /** null: of a kind that is no action. What is in it hangs at the action around it. */
  action: Action | null
  readonly above: Node | null
  /** Name of the agent that acts in it. */
  readonly agent: string | undefined
  readonly session: string | undefined
  isDenied: boolean
  /** Why the run failed. */
  error: unknown
}

/** Traces, and spans that never end, must not fill the memory. */
const NODES_MAX = 10_000

/**
 * Spans that are under way, and traces, by their ids. A trace stays when it has ended: a run that asked somebody goes on under it, and its
 * start is not told again. The oldest are forgotten first.
 */
export class Runs {
  readonly #nodes = new Map<string, Node>()

  find(id: string): Node | undefined {
    return this.#nodes.get(id)
  }

  add(of: Trace | Span<SpanData>, action: Action | null, agent?: string): Node {
    const above = of.type === 'trace' ? null : this.above(of)
    const session = of.type === 'trace' ? (of.groupId ?? undefined) : above?.session
    const node = {
      action,
      above,
      agent: agent ?? above?.agent,
      session,
      isDenied: false,
      error: undefined,
    }
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

/** The action that a part of it has as its parent. */
export function actionAround(node: Node | null): Action | undefined {
  for (let found = node; found !== null; found = found.above) if (found.action !== null) return found.action
  return undefined
}

function idOf(of: Trace | Span<SpanData>): string {
  return of.type === 'trace' ? of.traceId : of.spanId
}
