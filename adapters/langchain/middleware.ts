import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import { type Action, Actions, type Call, type Outcome } from '@tallystick/sdk/actions'
import { type AgentMiddleware, createMiddleware } from 'langchain'
import { z } from 'zod'
import { currentAction } from '../shared/current.ts'
import { endThrown, isInterrupt, outcomeOfThrow, Runs } from './runs.ts'
import { nameOfModel, outcomeOfModel, outcomeOfTool, valuesOf } from './values.ts'
import { currentWatch, type Watch, watchRuns } from './watch.ts'

export type MiddlewareOptions = {
  readonly actions?: Actions | undefined
  /** Name of the agent, which the library does not pass to a middleware. */
  readonly agent?: string | undefined
}

type Run = {
  readonly action: Action
  readonly runtime: Runtime
  /** Ids of tool calls that are recorded already. */
  readonly recordedCalls: Set<string>
}

const FRAMEWORK = 'langchain-js'

/**
 * Returns a middleware that records what a LangChain agent does, as a tree: its run, and its calls of tools and models.
 *
 *     createAgent({ model, tools, middleware: [tallystickMiddleware()] })
 *
 * Put this middleware first, so that it sees what the other middleware decide. Only with `failClosed` a call waits for
 * its record. A tool is then called only when the ledger has the record; otherwise the model gets an error text.
 */
export function tallystickMiddleware({
  actions = new Actions(),
  agent,
}: MiddlewareOptions = {}): AgentMiddleware {
  const runs = new Runs<Run>()
  const begin = (
    run: Run | undefined,
    call: Pick<Call, 'kind' | 'name' | 'callId' | 'arguments'>,
    { configurable }: Runtime,
    told = actions.toldFirst,
  ) =>
    actions.begin(
      {
        ...call,
        agent,
        session: configurable?.thread_id,
        framework: FRAMEWORK,
        parent: run?.action ?? currentAction.getStore(),
      },
      told,
    )

  /** Records calls that another middleware answered in place of the tool, because a person or a rule denied them. */
  const recordDenied = (run: Run, messages: readonly BaseMessage[]) => {
    for (const { call, answer } of lastAnswers(messages)) {
      if (run.recordedCalls.has(call.id!) || answer.status !== 'error') continue
      run.recordedCalls.add(call.id!)
      const described = { kind: 'tool', name: call.name, callId: call.id, arguments: call.args } as const
      const action = begin(run, described, run.runtime, 'before')
      action.decide({ decision: 'deny', by: { kind: 'unknown' } })
      action.end({ status: 'denied', result: answer.content })
    }
  }

  /**
   * Calls `perform` and records how it ended. `isBegun` returns whether the tool itself was called: an inner middleware
   * may have answered instead of the tool.
   */
  const recordCall = async <Answer>(
    action: Action,
    perform: () => Answer | Promise<Answer>,
    outcomeOf: (answer: Answer) => Outcome,
    { signal }: Runtime,
    isBegun: () => boolean = () => true,
  ): Promise<Answer> => {
    const end = (outcome: Outcome) => {
      if (isBegun()) return action.end(outcome)
      action.decide({ decision: 'deny', by: { kind: 'unknown' } })
      action.end({ ...outcome, status: 'denied' })
    }
    try {
      const answer = await currentAction.run(action, async () => perform())
      end(outcomeOf(answer))
      return answer
    } catch (error) {
      if (isInterrupt(error)) endThrown(action, error)
      else end(outcomeOfThrow(error, signal))
      throw error
    }
  }

  /** Returns the run that a hook's state names. Also sets it as the run that the watch of the current call will end. */
  const runOf = ({ _tallystickRun: id }: { _tallystickRun?: string | undefined }): Run | undefined => {
    const run = runs.find(id)
    const watch = currentWatch(isOurs)
    if (watch && run) watch.run = run
    return run
  }
  const end = (run: Run, outcome: Outcome) => {
    runs.take(run.action.handle)
    run.action.end(outcome)
  }
  const isOurs = (watch: Watch): watch is RunWatch => watch instanceof RunWatch && watch.end === end

  const middleware = createMiddleware({
    name: 'Tallystick',
    stateSchema: z.object({ _tallystickRun: z.string().optional() }),

    beforeAgent({ messages }, runtime) {
      const call = { kind: 'agent', name: agent ?? 'agent', arguments: valuesOf(messages) } as const
      const action = begin(undefined, call, runtime, 'before')
      const run = { action, runtime, recordedCalls: new Set<string>() }
      runs.add(action.handle, run)
      runOf({ _tallystickRun: action.handle })
      // The library has no callback for a stream whose reader stops.
      runtime.signal?.addEventListener('abort', () => end(run, { status: 'unknown' }), { once: true })
      return { _tallystickRun: action.handle }
    },

    async wrapModelCall(request, handler) {
      const { state, runtime, model, messages } = request
      const run = runOf(state)
      if (run) recordDenied(run, state.messages)
      const call = { kind: 'model', name: nameOfModel(model), arguments: valuesOf(messages) } as const
      return await recordCall(
        begin(run, call, runtime, 'before'),
        () => handler(request),
        outcomeOfModel,
        runtime,
      )
    },

    async wrapToolCall(request, handler) {
      const { state, runtime, toolCall } = request
      const { id = '', name, args } = toolCall
      const run = runOf(state)
      run?.recordedCalls.add(id)
      const action = begin(run, { kind: 'tool', name, callId: id, arguments: args }, runtime)
      try {
        await action.permitted
      } catch (error) {
        return new ToolMessage({ content: (error as Error).message, tool_call_id: id, name, status: 'error' })
      }
      const watch = currentWatch(isOurs)
      const isBegun = () => !watch?.hasHandlers || watch.begun.has(action)
      return await recordCall(action, () => handler(request), outcomeOfTool, runtime, isBegun)
    },

    afterAgent(state) {
      const run = runOf(state)
      if (!run) return
      recordDenied(run, state.messages)
      const watch = currentWatch(isOurs)
      if (watch) watch.isAfterAgent = true
      // If the call is watched, the watch ends the run later, because another middleware may still throw. A direct call
      // of the agent's graph is not watched.
      else end(run, { status: 'ok', result: state.messages.at(-1)?.content })
    },
  })
  watchRuns(middleware, () => new RunWatch(recordDenied, end))
  return middleware
}

/** Ends the run of the watched call. */
class RunWatch implements Watch {
  run: Run | undefined
  hasHandlers = false
  isAfterAgent = false
  readonly begun = new WeakSet<Action>()
  readonly #recordDenied: (run: Run, messages: readonly BaseMessage[]) => void
  readonly end: (run: Run, outcome: Outcome) => void

  constructor(recordDenied: (run: Run, messages: readonly BaseMessage[]) => void, end: RunWatch['end']) {
    this.#recordDenied = recordDenied
    this.end = end
  }

  ended(outputs: unknown): void {
    const { messages = [] } = Object(outputs) as { messages?: readonly BaseMessage[] }
    if (!this.run) return
    // The run may wait for a person's answer. If so, another call continues the run.
    if (!this.hasHandlers && !this.isAfterAgent) return
    this.#recordDenied(this.run, messages)
    this.end(this.run, { status: 'ok', result: messages.at(-1)?.content })
  }

  failed(error: unknown, signal: AbortSignal | undefined): void {
    if (this.run) this.end(this.run, outcomeOfThrow(error, signal))
  }
}

type Runtime = {
  readonly configurable?: { readonly thread_id?: string } | undefined
  readonly signal?: AbortSignal | undefined
}

/** Returns the model's last tool calls with their answers. */
function lastAnswers(messages: readonly BaseMessage[]) {
  const at = messages.findLastIndex((message) => AIMessage.isInstance(message) && message.tool_calls?.length)
  const calls = (messages[at] as AIMessage | undefined)?.tool_calls ?? []
  return messages.slice(at + 1).flatMap((answer) => {
    if (!ToolMessage.isInstance(answer)) return []
    const call = calls.find(({ id }) => id === answer.tool_call_id)
    return call ? [{ call, answer }] : []
  })
}
