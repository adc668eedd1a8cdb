import { type Action, Actions, type Call, type Told } from '@tallystick/sdk/actions'
import type { Telemetry } from 'ai'
import { currentAction } from '../shared/current.ts'
import { type Answer, answersIn } from './approvals.ts'

type EventOf<Name extends keyof Telemetry> =
  NonNullable<Telemetry[Name]> extends (event: infer Event) => unknown ? Event : never

/** A generation, an embedding or the like, that is under way. */
type Run = {
  readonly action: Action
  /** The model's call that is under way. */
  model: Action | null
  /** By the call's id. */
  readonly tools: Map<string, Action>
  readonly answers: Map<string, Answer>
}

/** Operations that never end must not fill the memory. */
const RUNS_MAX = 10_000
/** The others call a model once. */
const AGENTS: readonly string[] = ['ai.generateText', 'ai.streamText']

/**
 * Writes down what the AI SDK does: generations, calls of tools and models, approvals, as the tree that they are.
 *
 *     registerTelemetry(new TallystickTelemetry())
 *
 * It never throws and nobody waits for it, unless its actions fail closed: then a tool is called only when the ledger has the record, and the
 * model hears that it was not.
 */
export class TallystickTelemetry implements Telemetry {
  readonly actions: Actions
  /** By the id of the operation. */
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
    const run: Run = { action, model: null, tools: new Map(), answers: new Map() }
    this.#runs.set(callId, run)
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= RUNS_MAX) break
      this.#runs.delete(oldest)
    }
    for (const answer of answersIn(messages)) {
      if (answer.isApproved) run.answers.set(answer.toolCallId, answer)
      else this.#deny(run, answer, 'person')
    }
  }

  onLanguageModelCallStart = ({ callId, modelId, messages }: EventOf<'onLanguageModelCallStart'>): void => {
    const run = this.#runs.get(callId)
    if (run) run.model = this.#begin(run, { kind: 'model', name: modelId, arguments: messages })
  }

  onLanguageModelCallEnd = ({ callId, content, usage }: EventOf<'onLanguageModelCallEnd'>): void => {
    const run = this.#runs.get(callId)
    const { inputTokens, outputTokens } = usage ?? {}
    run?.model?.end({ result: content, attributes: { inputTokens, outputTokens } })
    if (run) run.model = null
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
    run?.tools.set(toolCallId, action)
    const answer = run?.answers.get(toolCallId)
    await action.permitted
    if (answer) action.decide({ decision: 'allow', by: { kind: 'person' }, why: answer.reason })
    return currentAction.run(action, execute)
  }

  onToolExecutionEnd = ({
    callId,
    toolCall,
    toolOutput,
    toolExecutionMs,
  }: EventOf<'onToolExecutionEnd'>): void => {
    const action = this.#runs.get(callId)?.tools.get(toolCall.toolCallId)
    if (toolOutput.type === 'tool-error')
      action?.end({ error: toolOutput.error, durationMs: toolExecutionMs })
    else action?.end({ result: toolOutput.output, durationMs: toolExecutionMs })
  }

  /** Tells what a rule of the application decided: by then the tools that were allowed have run. */
  onStepEnd = ({ callId, content }: EventOf<'onStepEnd'>): void => {
    const run = this.#runs.get(callId)
    for (const part of run ? content : []) {
      if (part.type !== 'tool-approval-response') continue
      const { toolCall, approved, reason } = part
      if (!approved) this.#deny(run!, { ...toolCall, isApproved: false, reason }, 'policy')
      else
        run!.tools
          .get(toolCall.toolCallId)
          ?.decide({ decision: 'allow', by: { kind: 'policy' }, why: reason })
    }
  }

  onEnd = (event: EventOf<'onEnd'>): void => {
    const { text, object, usage } = event as {
      text?: unknown
      object?: unknown
      usage?: Record<string, unknown>
    }
    const attributes = {
      inputTokens: usage?.['inputTokens'],
      outputTokens: usage?.['outputTokens'],
      tokens: usage?.['tokens'],
    }
    this.#end(event.callId, (action) => action.end({ result: text ?? object, attributes }))
  }

  onAbort = ({ callId, reason }: EventOf<'onAbort'>): void => {
    const error = reason instanceof Error ? reason : new DOMException(`${reason ?? 'aborted'}`, 'AbortError')
    this.#end(callId, (action) => action.end({ error }))
  }

  onError = (event: unknown): void => {
    const { callId, error } = event as { callId?: string; error?: unknown }
    if (callId !== undefined) this.#end(callId, (action) => action.end({ error: error ?? 'failed' }))
  }

  #end(callId: string, end: (action: Action) => void): void {
    const run = this.#runs.get(callId)
    if (!run) return
    this.#runs.delete(callId)
    if (run.model) end(run.model)
    for (const tool of run.tools.values()) tool.end({ status: 'unknown' })
    end(run.action)
  }

  /** The tool was never called. */
  #deny(run: Run, { toolCallId, toolName, input, reason }: Answer, by: 'person' | 'policy'): void {
    const action = this.#begin(run, { kind: 'tool', name: toolName, callId: toolCallId, arguments: input })
    action.decide({ decision: 'deny', by: { kind: by }, why: reason })
    action.end({ status: 'denied' })
  }

  #begin(run: Run | undefined, call: Call, told: Told = 'before'): Action {
    const { agent, framework } = run ? run.action.call : {}
    return this.actions.begin({ ...call, agent, framework: framework ?? 'ai', parent: run?.action }, told)
  }
}

function frameworkOf(version: string | undefined): string {
  return version === undefined ? 'ai' : `ai/${version}`
}
