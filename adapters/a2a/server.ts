import type {
  AgentExecutionEvent,
  AgentExecutor,
  ExecutionEventBus,
  RequestContext,
} from '@a2a-js/sdk/server'
import { type Action, Actions, type Outcome } from '@tallystick/sdk/actions'
import { currentAction } from '../shared/current.ts'
import { type Carried, carriedBy, carry, EXTENSION, recordOf } from './extension.ts'
import { outcomeOfAnswer, outcomeOfState, textsOf } from './outcomes.ts'

const FRAMEWORK = 'a2a-js'

/**
 * Writes down the messages that an agent is sent, and how it answered each, in its own ledger. The record names that of the sender, where
 * the message brought one, and the answers bring the id of this one.
 *
 *     new DefaultRequestHandler(card, store, recordingExecutor(executor, { name: card.name }))
 */
export function recordingExecutor(
  executor: AgentExecutor,
  { name, actions = new Actions() }: { readonly name: string; readonly actions?: Actions | undefined },
): AgentExecutor {
  return {
    async execute(request, bus) {
      const action = begin(actions, name, request)
      await action.permitted
      const record = await recordOf(action)
      const carried = { traceparent: action.traceparent, ...(record !== null && { record }) }
      const observed = new ObservedBus(bus, carried)
      try {
        await currentAction.run(action, () => executor.execute(request, observed.bus))
        action.end(observed.outcome)
      } catch (error) {
        action.end({ error })
        throw error
      }
    },
    cancelTask: (taskId, bus) => executor.cancelTask(taskId, bus),
  }
}

function begin(
  actions: Actions,
  name: string,
  { userMessage, contextId, taskId, context }: RequestContext,
): Action {
  const { record, traceparent } = carriedBy(userMessage)
  if (record !== undefined) context.addActivatedExtension(EXTENSION)
  const call = {
    kind: 'agent',
    name,
    agent: name,
    callId: userMessage.messageId,
    session: contextId,
    arguments: textsOf(userMessage),
    framework: FRAMEWORK,
    traceparent,
    attributes: { task: taskId, caller: record },
  } as const
  return actions.begin(call, actions.toldFirst, true)
}

/** Sees what an executor publishes, and has messages bring the record's id. */
class ObservedBus {
  readonly bus: ExecutionEventBus
  outcome: Outcome = {}

  constructor(bus: ExecutionEventBus, carried: Carried) {
    const publish = (event: AgentExecutionEvent) => {
      this.#observe(event)
      bus.publish(event.kind === 'message' ? { ...event, data: carry(event.data, carried) } : event)
    }
    this.bus = new Proxy(bus, {
      get(target, name) {
        if (name === 'publish') return publish
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  #observe({ kind, data }: AgentExecutionEvent): void {
    if (kind === 'message' || kind === 'task') this.outcome = { ...this.outcome, ...outcomeOfAnswer(data) }
    if (kind === 'statusUpdate') this.outcome = { ...this.outcome, ...outcomeOfState(data.status?.state) }
  }
}
