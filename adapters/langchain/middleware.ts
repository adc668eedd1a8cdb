import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import { type Action, Actions, type Outcome } from '@tallystick/sdk/actions'
import { type AgentMiddleware, createMiddleware } from 'langchain'
import { z } from 'zod'
import { currentAction } from '../shared/current.ts'
import { endThrown, isInterrupt, Runs } from './runs.ts'
import { nameOfModel, outcomeOfModel, outcomeOfTool, valuesOf } from './values.ts'

export type MiddlewareOptions = {
  readonly actions?: Actions | undefined
  /** Name of the agent: the library does not tell it to a middleware. */
  readonly agent?: string | undefined
}

/** An agent's run. */
type Run = {
  readonly action: Action
  /** Calls of tools that came this way. */
  readonly called: Set<string>
}

const FRAMEWORK = 'langchain-js'

/**
 * Writes down what an agent of LangChain does: its run, its calls of tools and models, as the tree that they are.
 *
 *     createAgent({ model, tools, middleware: [tallystickMiddleware()] })
 *
 * The first of the middleware, so that it sees what the others decide. Nobody waits for it, unless its actions fail closed: then a tool is
 * called only when the ledger has the record, and the model hears that it was not.
 */
export function tallystickMiddleware({
  actions = new Actions(),
  agent,
}: MiddlewareOptions = {}): AgentMiddleware {
  const runs = new Runs<Run>()
  const begin = (
    run: Run | undefined,
    call: Pick<Action['call'], 'kind' | 'name' | 'callId' | 'arguments'>,
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

  /** Calls that another middleware answered, in the place of the tool: a person or a rule said no. */
  const tellDenied = (run: Run | undefined, messages: readonly BaseMessage[], runtime: Runtime) => {
    for (const { call, answer } of run ? lastAnswers(messages) : []) {
      if (run!.called.has(call.id!) || answer.status !== 'error') continue
      run!.called.add(call.id!)
      const action = begin(
        run,
        { kind: 'tool', name: call.name, callId: call.id, arguments: call.args },
        runtime,
        'before',
      )
      action.decide({ decision: 'deny', by: { kind: 'unknown' } })
      action.end({ status: 'denied', result: answer.content })
    }
  }

  /** Does it, and says how it ended. A throw that nobody inside has caught ends the run too. */
  const tell = async <Answer>(
    action: Action,
    runId: string | undefined,
    deed: () => Answer | Promise<Answer>,
    outcomeOf: (answer: Answer) => Outcome,
  ): Promise<Answer> => {
    try {
      const answer = await currentAction.run(action, async () => deed())
      action.end(outcomeOf(answer))
      return answer
    } catch (error) {
      endThrown(action, error)
      if (!isInterrupt(error)) runs.take(runId)?.action.end({ error })
      throw error
    }
  }

  return createMiddleware({
    name: 'Tallystick',
    stateSchema: z.object({ _tallystickRun: z.string().optional() }),

    beforeAgent({ messages }, runtime) {
      const call = { kind: 'agent', name: agent ?? 'agent', arguments: valuesOf(messages) } as const
      const action = begin(undefined, call, runtime, 'before')
      runs.add(action.handle, { action, called: new Set() })
      return { _tallystickRun: action.handle }
    },

    async wrapModelCall(request, handler) {
      const { state, runtime, model, messages } = request
      const run = runs.find(state._tallystickRun)
      tellDenied(run, state.messages, runtime)
      const action = begin(
        run,
        { kind: 'model', name: nameOfModel(model), arguments: valuesOf(messages) },
        runtime,
        'before',
      )
      return await tell(action, state._tallystickRun, () => handler(request), outcomeOfModel)
    },

    async wrapToolCall(request, handler) {
      const { state, runtime, toolCall } = request
      const { id = '', name, args } = toolCall
      const run = runs.find(state._tallystickRun)
      run?.called.add(id)
      const action = begin(run, { kind: 'tool', name, callId: id, arguments: args }, runtime)
      try {
        await action.permitted
      } catch (error) {
        return new ToolMessage({ content: (error as Error).message, tool_call_id: id, name, status: 'error' })
      }
      return await tell(action, state._tallystickRun, () => handler(request), outcomeOfTool)
    },

    afterAgent({ messages, _tallystickRun }, runtime) {
      const run = runs.take(_tallystickRun)
      tellDenied(run, messages, runtime)
      run?.action.end({ result: messages.at(-1)?.content })
    },
  })
}

type Runtime = { readonly configurable?: { readonly thread_id?: string } | undefined }

/** The answers to the last calls that the model made. */
function lastAnswers(messages: readonly BaseMessage[]) {
  const at = messages.findLastIndex((message) => AIMessage.isInstance(message) && message.tool_calls?.length)
  const calls = (messages[at] as AIMessage | undefined)?.tool_calls ?? []
  return messages.slice(at + 1).flatMap((answer) => {
    if (!ToolMessage.isInstance(answer)) return []
    const call = calls.find(({ id }) => id === answer.tool_call_id)
    return call ? [{ call, answer }] : []
  })
}
