import {
  type Action,
  Actions,
  type Call,
  follow,
  type Outcome,
  outcomeOfThrown,
  type Told,
} from '@tallystick/sdk/actions'
import type { Telemetry } from 'ai'
import { currentAction } from '../shared/current.ts'
import { type ApprovalAnswer, answersIn } from './approvals.ts'

type EventOf<Name extends keyof Telemetry> =
  NonNullable<Telemetry[Name]> extends (event: infer Event) => unknown ? Event : never

/** An open generation, embedding or other operation. */
type Run = {
  readonly action: Action
  /** Action of the model call in progress, or null. */
  model: Action | null
  /** Error that the stream of the current or the last model call reported. null if the stream reported no error. */
  failed: Outcome | null
  /** Open tool calls. The key is the library's call object, because a model may give two calls the same id. */
  readonly tools: Map<object, Action>
  readonly answers: readonly ApprovalAnswer[]
}

/** Maximum number of open operations. Some operations never end. */
const RUNS_MAX = 10_000
/** Operations with several steps. Every other operation calls a model once. */
const AGENTS: readonly string[] = ['ai.generateText', 'ai.streamText']

/**
 * Records what the AI SDK does, as a tree: generations, calls of tools and models, approvals.
 *
 *     registerTelemetry(new TallystickTelemetry())
 *
 * The telemetry never throws. Only with `failClosed` a call waits for its record. A tool is then called only when the
 * ledger has the record; otherwise the model gets an error text.
 */
export class TallystickTelemetry implements Telemetry {
  readonly actions: Actions
  /** Maps an operation's id to the open operation. */
  readonly #runs = new Map<string, Run>()

  constructor(actions: Actions = new Actions()) {
    this.actions = actions
  }

  onStart = (event: EventOf<'onStart'>): void => {
    const { callId, operationId, modelId, functionId, aiVersion } = event
    const isAgent = AGENTS.includes(operationId)
    const { instructions, messages } = event as {
      instructions?: unknown
      messages?: Parameters<typeof answersIn>[0]
    }
    const action = this.actions.begin({
      kind: isAgent ? 'agent' : 'model',
      name: (isAgent ? functionId : modelId) ?? operationId,
      arguments: isAgent && messages ? { instructions, messages } : undefined,
      agent: functionId,
      framework: frameworkOf(aiVersion),
      attributes: { operation: operationId, model: modelId },
      parent: currentAction.getStore(),
    })
    const answers = answersIn(messages)
    const run: Run = { action, model: null, failed: null, tools: new Map(), answers }
    this.#runs.set(callId, run)
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= RUNS_MAX) break
      this.#runs.delete(oldest)
    }
    for (const answer of answers) if (!answer.isApproved) this.#deny(run, answer, 'person')
  }

  onLanguageModelCallStart = ({ callId, modelId, messages }: EventOf<'onLanguageModelCallStart'>): void => {
    const run = this.#runs.get(callId)
    if (!run) return
    // The library reports no end for a failed stream that it retries.
    run.model?.end(run.failed ?? { status: 'unknown' })
    run.failed = null
    run.model = this.#begin(run, { kind: 'model', name: modelId, arguments: messages })
  }

  onLanguageModelCallEnd = (event: EventOf<'onLanguageModelCallEnd'>): void => {
    const { callId, content, usage, finishReason } = event
    const run = this.#runs.get(callId)
    const { inputTokens, outputTokens } = usage ?? {}
    const attributes = { inputTokens, outputTokens, finishReason }
    run?.model?.end({ status: statusOf(finishReason), result: content, attributes, ...run.failed })
    if (run) run.model = null
  }

  /**
   * Observes whether a model's stream breaks or contains an error part. Version 7.0 of the AI SDK has no callback for a
   * broken stream.
   */
  executeLanguageModelCall: NonNullable<Telemetry['executeLanguageModelCall']> = async ({
    callId,
    execute,
  }) => {
    const run = callId === undefined ? undefined : this.#runs.get(callId)
    const model = run?.model
    const answer = await execute()
    const { stream } = Object(answer) as { stream?: unknown }
    if (run && model && stream instanceof ReadableStream && !Object.isFrozen(answer)) {
      const observed = follow(stream, (outcome) => outcome.status === 'error' && model.end(outcome))
      const failed = (error: unknown) => {
        if (run.model === model) run.failed = outcomeOfThrown(error)
      }
      Object.assign(answer as object, { stream: observed.pipeThrough(observedErrors(failed)) })
    }
    return answer
  }

  executeTool: NonNullable<Telemetry['executeTool']> = async ({ callId, toolCallId, toolCall, execute }) => {
    const run = this.#runs.get(callId)
    const call: Call = {
      kind: 'tool',
      name: toolCall?.toolName ?? 'tool',
      callId: toolCallId,
      arguments: toolCall?.input,
    }
    const action = this.#begin(run, call, this.actions.toldFirst)
    if (toolCall) run?.tools.set(toolCall, action)
    await action.permitted
    const answer = toolCall && run?.answers.find((answer) => answer.isApproved && isOf(answer, toolCall))
    if (answer) action.decide({ decision: 'allow', by: { kind: 'person' }, why: answer.reason })
    try {
      return await currentAction.run(action, execute)
    } catch (error) {
      action.end(outcomeOfThrown(error))
      throw error
    }
  }

  /** Records the result of a tool. If the tool threw, `executeTool` has recorded it already. */
  onToolExecutionEnd = ({
    callId,
    toolCall,
    toolOutput,
    toolExecutionMs,
  }: EventOf<'onToolExecutionEnd'>): void => {
    const action = this.#runs.get(callId)?.tools.get(toolCall)
    if (toolOutput.type === 'tool-error') action?.end(outcomeOfThrown(toolOutput.error))
    else action?.end({ status: 'ok', result: toolOutput.output, durationMs: toolExecutionMs })
  }

  /** Records the decisions of the application's rules. Allowed tools have already run at this time. */
  onStepEnd = ({ callId, content }: EventOf<'onStepEnd'>): void => {
    const run = this.#runs.get(callId)
    for (const part of run ? content : []) {
      if (part.type !== 'tool-approval-response') continue
      const { toolCall, approved, reason } = part
      if (!approved) this.#deny(run!, { ...toolCall, isApproved: false, reason }, 'policy')
      else this.#called(run!, toolCall)?.decide({ decision: 'allow', by: { kind: 'policy' }, why: reason })
    }
  }

  onEnd = (event: EventOf<'onEnd'>): void => {
    const { text, object, usage, finishReason } = event as {
      text?: unknown
      object?: unknown
      usage?: Record<string, unknown>
      finishReason?: string
    }
    const attributes = {
      inputTokens: usage?.['inputTokens'],
      outputTokens: usage?.['outputTokens'],
      tokens: usage?.['tokens'],
      finishReason,
    }
    const hasError = 'error' in event && event.error !== undefined
    const { model = null, failed = null } = this.#runs.get(event.callId) ?? {}
    const said = hasError ? 'error' : statusOf(finishReason)
    // If the last model call is still open, its stream was cut off.
    const status = said === 'ok' && model !== null ? 'unknown' : said
    this.#end(event.callId, { status, result: text ?? object, attributes, ...failed })
  }

  onAbort = ({ callId, reason }: EventOf<'onAbort'>): void => {
    const error = reason instanceof Error ? reason : new DOMException(`${reason ?? 'aborted'}`, 'AbortError')
    this.#end(callId, { status: 'unknown', error })
  }

  onError = (event: unknown): void => {
    const { callId, error } = event as { callId?: string; error?: unknown }
    if (callId !== undefined) this.#end(callId, outcomeOfThrown(error))
  }

  /**
   * Ends an operation and its open calls. If the operation failed, its model call gets the same outcome. Other open
   * calls end as `unknown`.
   */
  #end(callId: string, outcome: Outcome): void {
    const run = this.#runs.get(callId)
    if (!run) return
    this.#runs.delete(callId)
    run.model?.end(outcome.status === 'error' ? outcome : { ...outcome, status: 'unknown' })
    run.action.end(outcome)
  }

  /**
   * Returns the action of a call, found by the library's object, or by id and input. Returns undefined if two calls
   * have the same id and input.
   */
  #called({ tools }: Run, call: ToolCall): Action | undefined {
    const known = tools.get(call)
    if (known) return known
    const [found, another] = [...tools].filter(([called]) => isOf(call, called as ToolCall))
    return another ? undefined : found?.[1]
  }

  /** Records a denied tool call, which never ran. */
  #deny(run: Run, { toolCallId, toolName, input, reason }: ApprovalAnswer, by: 'person' | 'policy'): void {
    const action = this.#begin(run, { kind: 'tool', name: toolName, callId: toolCallId, arguments: input })
    action.decide({ decision: 'deny', by: { kind: by }, why: reason })
    action.end({ status: 'denied' })
  }

  #begin(run: Run | undefined, call: Call, told: Told = 'before'): Action {
    const { agent, framework } = run ? run.action.call : {}
    return this.actions.begin({ ...call, agent, framework: framework ?? 'ai', parent: run?.action }, told)
  }
}

type ToolCall = { readonly toolCallId: string; readonly input?: unknown }

/** Returns whether two objects are the same call. Compares the inputs too, because two calls may have the same id. */
function isOf(one: ToolCall, other: ToolCall): boolean {
  return one.toolCallId === other.toolCallId && JSON.stringify(one.input) === JSON.stringify(other.input)
}

/**
 * Returns the status for a finish reason. A failed stream ends with `error`, a cut-off stream with `interrupted`.
 * Neither of them throws.
 */
function statusOf(finishReason: string | undefined): 'ok' | 'error' | 'unknown' {
  if (finishReason === 'error') return 'error'
  return finishReason === 'interrupted' ? 'unknown' : 'ok'
}

/**
 * Calls `failed` for each error part of a stream. A finish reason may follow the error, and the library stores only the
 * last reason.
 */
function observedErrors(failed: (error: unknown) => void): TransformStream {
  return new TransformStream({
    transform(part, controller) {
      if (part?.type === 'error') failed(part.error)
      controller.enqueue(part)
    },
  })
}

function frameworkOf(version: string | undefined): string {
  return version === undefined ? 'ai' : `ai/${version}`
}
