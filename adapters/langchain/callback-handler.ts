import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import type { Serialized } from '@langchain/core/load/serializable'
import type { BaseMessage } from '@langchain/core/messages'
import type { LLMResult } from '@langchain/core/outputs'
import { type Action, Actions, type Call } from '@tallystick/sdk/actions'
import { currentAction } from '../shared/current.ts'
import { endThrown, isInterrupt, Runs } from './runs.ts'
import { outcomeOfModel, outcomeOfTool, valuesOf } from './values.ts'
import { MARK } from './watch.ts'

const FRAMEWORK = 'langchain-js'

/** An open run of the library. `action`: the run's own action. If it has none, the action of the run around it. */
type Run = {
  readonly action: Action | undefined
  readonly isOwn: boolean
  /** Identifies the agent call around this run, if that agent uses `tallystickMiddleware`. */
  readonly mark: unknown
  /**
   * True for the chains of an agent whose tools and models the middleware records. False for chains that a tool calls.
   */
  readonly isOfMiddleware: boolean
  /** A part of this run asked for input. The library then ends the run without an error. */
  isInterrupted?: boolean
}

/**
 * Records chains and graphs of LangChain that are not agents of `createAgent`. For such agents use
 * `tallystickMiddleware`.
 *
 *     await graph.invoke(input, { callbacks: [new TallystickCallbackHandler()] })
 *
 * With `failClosed` the library waits for the handler, and a tool whose call is not in the ledger throws instead of
 * running.
 */
export class TallystickCallbackHandler extends BaseCallbackHandler {
  readonly name = 'tallystick'
  readonly actions: Actions
  readonly #runs = new Runs<Run>()

  constructor(actions: Actions = new Actions()) {
    super({ _awaitHandler: true, raiseError: actions.toldFirst === 'held' })
    this.awaitHandlers = true
    this.actions = actions
  }

  /**
   * The parameters are in the order of the library's calls (`CallbackManager.handleChainStart`), which differs from
   * its types.
   */
  override handleChainStart(
    chain: Serialized,
    inputs: unknown,
    runId: string,
    parentRunId?: string,
    _tags?: string[],
    metadata?: Record<string, unknown>,
    _runType?: string,
    runName?: string,
  ): void {
    const parentRun = this.#runs.find(parentRunId)
    const mark = metadata?.[MARK]
    const isOfMiddleware = mark !== undefined && (parentRun?.mark !== mark || parentRun.isOfMiddleware)
    if (parentRun || isOfMiddleware)
      this.#runs.add(runId, { action: parentRun?.action, isOwn: false, mark, isOfMiddleware })
    else
      this.#begin(
        runId,
        parentRunId,
        { kind: 'other', name: runName ?? nameOf(chain), arguments: inputs },
        metadata,
      )
  }

  override handleChainEnd(outputs: unknown, runId: string): void {
    const status = this.#runs.find(runId)?.isInterrupted ? 'unknown' : 'ok'
    this.#take(runId)?.end({ status, result: outputs })
  }

  override handleChainError(error: unknown, runId: string, parentRunId?: string): void {
    const parentRun = this.#runs.find(parentRunId)
    if (parentRun && isInterrupt(error)) parentRun.isInterrupted = true
    endThrown(this.#take(runId), error)
  }

  override async handleToolStart(
    tool: Serialized,
    input: string,
    runId: string,
    parentRunId?: string,
    _tags?: string[],
    metadata?: Record<string, unknown>,
    runName?: string,
    toolCallId?: string,
  ): Promise<void> {
    const call = {
      kind: 'tool',
      name: runName ?? nameOf(tool),
      callId: toolCallId,
      arguments: input,
    } as const
    await this.#begin(runId, parentRunId, call, metadata, this.actions.toldFirst)?.permitted
  }

  override handleToolEnd(output: unknown, runId: string): void {
    this.#take(runId)?.end(outcomeOfTool(output))
  }

  override handleToolError(error: unknown, runId: string): void {
    endThrown(this.#take(runId), error)
  }

  override handleChatModelStart(
    model: Serialized,
    messages: BaseMessage[][],
    runId: string,
    parentRunId?: string,
    _extra?: Record<string, unknown>,
    _tags?: string[],
    metadata?: Record<string, unknown>,
  ): void {
    const name = nameOf(model, metadata)
    this.#begin(runId, parentRunId, { kind: 'model', name, arguments: messages.map(valuesOf) }, metadata)
  }

  override handleLLMStart(
    model: Serialized,
    prompts: string[],
    runId: string,
    parentRunId?: string,
    _extra?: Record<string, unknown>,
    _tags?: string[],
    metadata?: Record<string, unknown>,
  ): void {
    this.#begin(
      runId,
      parentRunId,
      { kind: 'model', name: nameOf(model, metadata), arguments: prompts },
      metadata,
    )
  }

  override handleLLMEnd({ generations }: LLMResult, runId: string): void {
    const [first] = generations.flat()
    const message = (first as { message?: unknown } | undefined)?.message
    this.#take(runId)?.end(
      message === undefined ? { status: 'ok', result: first?.text } : outcomeOfModel(message),
    )
  }

  override handleLLMError(error: unknown, runId: string): void {
    endThrown(this.#take(runId), error)
  }

  #begin(
    runId: string,
    parentRunId: string | undefined,
    call: Call,
    metadata: Record<string, unknown> = {},
    told = 'before' as Actions['toldFirst'],
  ): Action | undefined {
    const parentRun = this.#runs.find(parentRunId)
    const mark = metadata[MARK]
    if (parentRun?.isOfMiddleware && parentRun.mark === mark) {
      this.#runs.add(runId, { action: undefined, isOwn: false, mark, isOfMiddleware: false })
      return undefined
    }
    const { thread_id: session } = metadata
    const parent = parentRun?.action ?? currentAction.getStore()
    const named = typeof session === 'string' ? { session } : {}
    const action = this.actions.begin({ ...call, ...named, framework: FRAMEWORK, parent }, told)
    this.#runs.add(runId, { action, isOwn: true, mark, isOfMiddleware: false })
    return action
  }

  #take(runId: string): Action | undefined {
    const run = this.#runs.take(runId)
    return run?.isOwn ? run.action : undefined
  }
}

/** Returns the provider's name of a model from the metadata, otherwise the name of its class. */
function nameOf(
  { id, name }: Serialized & { name?: string },
  metadata: Record<string, unknown> = {},
): string {
  const { ls_model_name: model } = metadata
  return typeof model === 'string' && model !== '' ? model : (name ?? id?.at(-1) ?? 'unknown')
}
