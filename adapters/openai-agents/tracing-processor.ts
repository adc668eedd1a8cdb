import { AsyncResource } from 'node:async_hooks'
import {
  type FunctionTool,
  getCurrentSpan,
  getCurrentTrace,
  type Span,
  type SpanData,
  type ToolInputGuardrailDefinition,
  type Trace,
  type TracingProcessor,
} from '@openai/agents'
import { type Action, Actions, type Outcome, outcomeOfThrown, type Told } from '@tallystick/sdk/actions'
import { currentAction } from '../shared/current.ts'
import { actionAround, hasStopped, type Node, Runs } from './runs.ts'
import { describeEnd, describeStart, errorOf, isRejected, outcomeOf, requestsTool } from './spans.ts'
import { traceparentOf } from './traceparent.ts'

const FRAMEWORK = 'openai-agents-js'
const FLUSH_MS_MAX = 30_000
/** Interval in ms between checks of open traces. The library has no callback for a run that threw. */
const THROWN_MS = 250

/**
 * Records what agents of the OpenAI Agents SDK do, as a tree: runs, agents, hand-overs, calls of tools and models.
 *
 *     addTraceProcessor(new TallystickTracingProcessor())
 *
 * It never waits for the server, and never throws. While the server is away the agents continue, and their actions
 * are recorded later. Use `guard` for a tool that must not run unrecorded.
 */
export class TallystickTracingProcessor implements TracingProcessor {
  readonly actions: Actions
  readonly #runs = new Runs()
  /** Maps an open trace to a function that returns whether the run of the trace continues. */
  readonly #open = new Map<Trace, () => boolean>()
  #timer: NodeJS.Timeout | undefined

  constructor(actions: Actions = new Actions()) {
    this.actions = actions
  }

  async onTraceStart(trace: Trace): Promise<void> {
    const action = this.actions.begin({
      kind: 'other',
      name: trace.name,
      session: trace.groupId ?? undefined,
      framework: FRAMEWORK,
      traceparent: traceparentOf(trace.traceId),
      parent: currentAction.getStore(),
    })
    this.#runs.add(trace, action)
    // A trace that is started by hand is in no context, so its end cannot be checked.
    const isOpen = () => getCurrentTrace()?.traceId === trace.traceId
    if (!isOpen()) return
    this.#open.set(trace, AsyncResource.bind(isOpen))
    this.#timer ??= setInterval(() => this.#endThrown(), THROWN_MS).unref()
  }

  async onTraceEnd(trace: Trace): Promise<void> {
    const run = this.#runs.find(trace.traceId)
    if (run) run.action?.end(run.failed ?? { status: hasStopped(run) ? 'unknown' : 'ok' })
    this.#forget(trace)
  }

  /** Ends traces whose context has ended without a callback, because their run threw. */
  #endThrown(): void {
    for (const [trace, isOpen] of this.#open) {
      if (isOpen()) continue
      const run = this.#runs.find(trace.traceId)
      run?.action?.end(run.failed ?? { status: 'unknown' })
      this.#forget(trace)
    }
  }

  #forget(trace: Trace): void {
    this.#open.delete(trace)
    if (this.#open.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async onSpanStart(span: Span<SpanData>): Promise<void> {
    // The action of a tool begins a little later. The library sets the tool's input only after this callback, and a
    // guarded tool gets its call's id only then.
    if (span.spanData.type !== 'function') this.#begin(span)
    else queueMicrotask(() => span.endedAt === null && this.#begin(span))
  }

  async onSpanEnd(span: Span<SpanData>): Promise<void> {
    const node = this.#begin(span)
    this.#runs.end(span)
    if (node.above?.above === null)
      node.above.failed = span.error === null ? null : outcomeOfThrown(errorOf(span.error))
    if (span.spanData.type === 'guardrail') return this.#decide(node, span.spanData)
    if (node.action === null) return this.#recordAfter(span, node)
    if (isRejected(span)) node.action.decide({ decision: 'deny', by: { kind: 'person' } })
    const outcome = outcomeOf(span, node)
    node.ended = node.isDenied ? 'denied' : outcome.status
    node.action.end(node.isDenied ? { ...outcome, status: 'denied' } : outcome)
  }

  async forceFlush(): Promise<void> {
    this.#endThrown()
    await this.actions.flush({ timeoutMs: FLUSH_MS_MAX }).catch(() => {}) // the notarizer has reported the error
  }

  /**
   * Waits for open traces for half of `timeoutMs`, and then ends them as `unknown`. With a spool, records that are not
   * sent within `timeoutMs` stay in the spool. Never throws.
   */
  async shutdown(timeoutMs: number = FLUSH_MS_MAX): Promise<void> {
    this.#endThrown()
    await this.actions.close({ timeoutMs }).catch(() => {})
  }

  /**
   * Adds a guardrail to a tool as its first guardrail, and returns the tool.
   *
   * The guardrail records the call with its id, and the decisions of the other guardrails. With `failClosed` the tool
   * is called only when the ledger has the record. Otherwise the model gets an error text.
   *
   * `guard` also observes when the tool returns. For other tools, the library reports no end that proves success.
   */
  guard<Tool extends Pick<FunctionTool, 'type' | 'name'>>(tool: Tool): Tool {
    const guarded = tool as unknown as Pick<FunctionTool, 'inputGuardrails' | 'invoke'>
    const { invoke } = guarded
    guarded.invoke = async (...args) => {
      const output = await invoke.apply(tool as never, args)
      const node = this.#runs.find(getCurrentSpan()?.spanId ?? '')
      if (node) node.hasReturned = true
      return output
    }
    guarded.inputGuardrails = [
      this.#intent,
      ...(guarded.inputGuardrails ?? []).map((guardrail) => this.#observed(guardrail)),
    ]
    return tool
  }

  readonly #intent: ToolInputGuardrailDefinition = {
    type: 'tool_input',
    name: 'tallystick',
    run: async ({ toolCall, context }) => {
      const span = getCurrentSpan() as Span<SpanData> | null
      if (span === null) return this.#withoutSpan()
      const { callId, arguments: input } = toolCall
      const { action } = this.#begin(span, { callId, arguments: input }, this.actions.toldFirst)
      try {
        await action?.permitted
        if (context.isToolApproved({ toolName: toolCall.name, callId }) === true)
          action?.decide({ decision: 'allow', by: { kind: 'person' } })
        return ALLOW
      } catch (error) {
        return { behavior: { type: 'rejectContent', message: (error as Error).message } }
      }
    },
  }

  /**
   * Handles a call without a span: tracing is off, so nothing can be recorded. With `failClosed` the tool must not run.
   */
  #withoutSpan(): Awaited<ReturnType<ToolInputGuardrailDefinition['run']>> {
    if (this.actions.toldFirst !== 'held') return ALLOW
    const message = 'the tool was not called, because its call cannot be recorded: tracing is disabled'
    return { behavior: { type: 'rejectContent', message } }
  }

  #observed(guardrail: ToolInputGuardrailDefinition): ToolInputGuardrailDefinition {
    const run: ToolInputGuardrailDefinition['run'] = async (data) => {
      const output = await guardrail.run(data)
      const node = this.#runs.find(getCurrentSpan()?.spanId ?? '')
      if (!node) return output
      const { behavior = { type: 'allow' } } = output
      node.isDenied ||= behavior.type !== 'allow'
      node.action?.decide({
        decision: behavior.type === 'allow' ? 'allow' : 'deny',
        by: { kind: 'policy', id: guardrail.name },
        why: behavior.type === 'rejectContent' ? behavior.message : undefined,
      })
      return output
    }
    return { ...guardrail, run }
  }

  /** Begins the action of a span. Only the first call for a span has an effect. */
  #begin(span: Span<SpanData>, call: { callId?: string; arguments?: string } = {}, told?: Told): Node {
    const known = this.#runs.find(span.spanId)
    if (known) return known
    const described = describeStart(span.spanData)
    const above = this.#runs.above(span)
    const agent = span.spanData.type === 'agent' ? span.spanData.name : undefined
    const action =
      described &&
      this.actions.begin({ ...described, ...call, ...this.#frame(span, above) }, told ?? 'before')
    return this.#runs.add(span, action, agent)
  }

  #recordAfter(span: Span<SpanData>, node: Node): void {
    const described = describeEnd(span.spanData)
    if (described === null) return
    const { result, hasAnswer, ...call } = described
    const { error, startedAt, endedAt } = span
    const times = { occurredAt: endedAt ?? undefined }
    const action = this.actions.begin({ ...call, ...this.#frame(span, node.above), ...times }, 'after')
    const durationMs = startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : undefined
    const ended = { result, durationMs, ...times }
    const outcome: Outcome =
      error === null ? { status: hasAnswer ? 'ok' : 'unknown' } : outcomeOfThrown(errorOf(error))
    node.ended = outcome.status
    node.requestsTool = call.kind === 'model' && requestsTool(result)
    action.end({ ...ended, ...outcome })
  }

  #frame({ traceId }: Span<SpanData>, above: Node | null) {
    return {
      parent: actionAround(above),
      agent: above?.agent,
      session: above?.session,
      framework: FRAMEWORK,
      traceparent: traceparentOf(traceId),
    }
  }

  #decide({ above }: Node, { name, triggered }: { name: string; triggered: boolean }): void {
    const action: Action | undefined = actionAround(above)
    action?.decide({ decision: triggered ? 'deny' : 'allow', by: { kind: 'policy', id: name } })
  }
}

const ALLOW = { behavior: { type: 'allow' } } as const
