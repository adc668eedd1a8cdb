import type {
  AgentExecutionEvent,
  AgentExecutor,
  ExecutionEventBus,
  RequestContext,
} from '@a2a-js/sdk/server'
import { type Action, Actions, outcomeOfThrown } from '@tallystick/sdk/actions'
import { currentAction } from '../shared/current.ts'
import { Answer, type AnswerEvent, partsOf } from './answer.ts'
import { type Carried, carriedBy, carry, EXTENSION, recordOf } from './extension.ts'

const FRAMEWORK = 'a2a-js'

/**
 * Returns an executor that records the messages that an agent gets, and their outcomes, in the agent's own ledger.
 *
 *     new DefaultRequestHandler(card, store, recordingExecutor(executor, { name: card.name }))
 *
 * A record names the sender's record if the message carried its id. Answers carry the id of the agent's own record.
 * With `failClosed` the executor throws NotRecordedError if the message cannot be recorded, and the agent does not act.
 */
export function recordingExecutor(
  executor: AgentExecutor,
  { name, actions = new Actions() }: { readonly name: string; readonly actions?: Actions | undefined },
): AgentExecutor {
  /**
   * Maps a task's id to its unfinished answer. `cancelTask` publishes the end of the task to another bus, so it needs
   * the answer.
   */
  const running = new Map<string, Answer>()
  return {
    async execute(request, bus) {
      const action = begin(actions, name, request)
      await action.permitted
      const record = await recordOf(action)
      const carried = { traceparent: action.traceparent, ...(record !== null && { record }) }
      const answer = new Answer(request.task)
      running.set(request.taskId, answer)
      try {
        await currentAction.run(action, () => executor.execute(request, observed(bus, answer, carried)))
        action.end(answer.outcome)
      } catch (error) {
        action.end({ ...answer.outcome, ...outcomeOfThrown(error) })
        throw error
      } finally {
        running.delete(request.taskId)
      }
    },
    cancelTask: (taskId, bus) => {
      const answer = running.get(taskId)
      return executor.cancelTask(taskId, answer === undefined ? bus : observed(bus, answer))
    },
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
    arguments: partsOf(userMessage),
    framework: FRAMEWORK,
    traceparent,
    attributes: { task: taskId, caller: record },
  } as const
  return actions.begin(call, actions.toldFirst, true)
}

/** Returns the bus with an observer: published events are added to `answer`, and messages carry `carried`. */
function observed(bus: ExecutionEventBus, answer: Answer, carried?: Carried): ExecutionEventBus {
  const publish = (event: AgentExecutionEvent) => {
    answer.observe({ kind: event.kind, value: event.data } as AnswerEvent)
    bus.publish(
      event.kind === 'message' && carried !== undefined
        ? { ...event, data: carry(event.data, carried) }
        : event,
    )
  }
  return new Proxy(bus, {
    get(target, name) {
      if (name === 'publish') return publish
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
