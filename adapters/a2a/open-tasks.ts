import type { Task } from '@a2a-js/sdk'
import type { Action } from '@tallystick/sdk/actions'
import { Answer } from './answer.ts'

/** Maximum number of unfinished tasks. Beyond this limit, the actions of the oldest task end as `unknown`. */
const OPEN_TASKS_MAX = 1_000

/**
 * Actions of unfinished tasks. An action ends when the client polls or subscribes to the task and gets a final state.
 */
export class OpenTasks {
  readonly #actions = new Map<string, { readonly action: Action; readonly answer: Answer }[]>()

  add(action: Action, answer: Answer): void {
    const { task } = answer
    if (task === undefined) {
      action.end(answer.outcome)
      return
    }
    this.#actions.set(task, [...(this.#actions.get(task) ?? []), { action, answer }])
    if (this.#actions.size <= OPEN_TASKS_MAX) return
    const [oldest, waiting] = this.#actions.entries().next().value!
    this.#actions.delete(oldest)
    for (const each of waiting) each.action.end(each.answer.outcome)
  }

  /** Ends the actions of a finished task. Returns the task. */
  observe(task: Task): Task {
    const answer = new Answer()
    answer.observe({ kind: 'task', value: task })
    if (!answer.isOpen) this.settle(answer)
    return task
  }

  settle(answer: Answer): void {
    const waiting = this.#actions.get(answer.task ?? '') ?? []
    this.#actions.delete(answer.task ?? '')
    for (const { action } of waiting) action.end(answer.outcome)
  }
}
