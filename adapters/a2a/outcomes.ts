import { type Message, type Task, type TaskState, taskStateToJSON } from '@a2a-js/sdk'
import type { Outcome } from '@tallystick/sdk/actions'
import { carriedBy } from './extension.ts'

const STATUSES: Readonly<Record<string, Outcome['status']>> = {
  TASK_STATE_COMPLETED: 'ok',
  TASK_STATE_FAILED: 'error',
  TASK_STATE_CANCELED: 'error',
  TASK_STATE_REJECTED: 'denied',
}

/** How a call ended that a task stands for; null while the task goes on. */
export function outcomeOfState(state: TaskState | undefined): Outcome | null {
  const name = state === undefined ? '' : taskStateToJSON(state)
  const status = STATUSES[name]
  if (status === undefined) return null
  return status === 'ok' ? { status } : { status, error: name.slice('TASK_STATE_'.length).toLowerCase() }
}

/** How a call ended by its answer: a task that goes on was taken on, which is what the call was for. */
export function outcomeOfAnswer(answer: Message | Task): Outcome {
  if ('messageId' in answer)
    return { result: textsOf(answer), attributes: { answerer: carriedBy(answer).record } }
  const { id: task, status, artifacts } = answer
  const result = { task, artifacts: artifacts.map(({ parts }) => parts.map(({ content }) => content)) }
  return { ...(outcomeOfState(status?.state) ?? {}), result, attributes: { task } }
}

export function textsOf({ parts }: Message): unknown {
  return parts.map(({ content }) => content)
}
