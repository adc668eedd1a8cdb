import {
  Artifact,
  type Message,
  Part,
  type Task,
  type TaskArtifactUpdateEvent,
  type TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
  taskStateToJSON,
} from '@a2a-js/sdk'
import type { Outcome } from '@tallystick/sdk/actions'
import { carriedBy } from './extension.ts'

/** Event of an agent's answer. A client gets it as `StreamResponse.payload`, a server as `AgentExecutionEvent`. */
export type AnswerEvent =
  | { readonly kind: 'message'; readonly value: Message }
  | { readonly kind: 'task'; readonly value: Task }
  | { readonly kind: 'statusUpdate'; readonly value: TaskStatusUpdateEvent }
  | { readonly kind: 'artifactUpdate'; readonly value: TaskArtifactUpdateEvent }

type Json = Readonly<Record<string, unknown>>

const ENDS: Readonly<Record<string, Outcome>> = {
  completed: { status: 'ok' },
  failed: { status: 'error', errorType: 'failed' },
  // A canceled task may have been done in part.
  canceled: { status: 'unknown', errorType: 'canceled' },
  rejected: { status: 'denied', errorType: 'rejected' },
}
/** States in which a task waits for input. The next message to the task is recorded as a new action. */
const WAITING = new Set(['input-required', 'auth-required'])

/**
 * Collects the answer to a message from the agent's events. Client and server collect the same value, with or without
 * streaming, so that both record the same digest. Ids and times of the transport are left out.
 */
export class Answer {
  /** Maps an artifact's id to its content. */
  readonly #artifacts = new Map<string, Json>()
  /** Parts of the answering message, or of the message in the last status. */
  #parts: readonly Json[] = []
  #state: string | undefined
  #task: string | undefined
  #answerer: string | undefined
  #isMessage = false

  /** `task`: earlier state of the task that the answer continues. */
  constructor(task?: Task | undefined) {
    if (task) this.#addTask(task)
    this.#state = undefined
    this.#parts = []
  }

  observe(event: AnswerEvent): void {
    switch (event.kind) {
      case 'message':
        this.#isMessage = true
        this.#parts = partsOf(event.value)
        this.#answerer = carriedBy(event.value).record
        break
      case 'task':
        this.#addTask(event.value)
        break
      case 'statusUpdate':
        this.#setStatus(event.value.status)
        this.#task = event.value.taskId
        break
      case 'artifactUpdate':
        this.#addArtifact(event.value)
    }
  }

  #addTask({ id, status, artifacts }: Task): void {
    this.#task = id
    this.#setStatus(status)
    for (const artifact of artifacts) this.#artifacts.set(artifact.artifactId, contentOf(artifact))
  }

  /** Sets the status. After a final status, later ones are ignored, as the A2A library does. */
  #setStatus(status: TaskStatus | undefined): void {
    if (this.#state !== undefined && ENDS[this.#state] !== undefined) return
    this.#state = stateName(status?.state)
    this.#parts = status?.message ? partsOf(status.message) : []
  }

  #addArtifact({ artifact, append }: TaskArtifactUpdateEvent): void {
    if (artifact === undefined) return
    const found = this.#artifacts.get(artifact.artifactId)
    const content = contentOf(artifact)
    if (found === undefined || !append) this.#artifacts.set(artifact.artifactId, content)
    else
      this.#artifacts.set(artifact.artifactId, {
        ...found,
        ...content,
        parts: [...(found['parts'] as Json[]), ...(content['parts'] as Json[])],
      })
  }

  /** True while the task is unfinished. The client then still waits for the answer. */
  get isOpen(): boolean {
    return !this.#isMessage && this.#ended === undefined && !WAITING.has(this.#state ?? '')
  }

  /** Id of the task that the agent created for the message, or undefined if the agent created no task. */
  get task(): string | undefined {
    return this.#task
  }

  get #ended(): Outcome | undefined {
    return this.#state === undefined ? undefined : ENDS[this.#state]
  }

  /** Outcome of the answer. `ok` only if the task is completed, or the answer is a message without a task. */
  get outcome(): Outcome {
    const artifacts = [...this.#artifacts.values()]
    const result = {
      ...(artifacts.length > 0 && { artifacts }),
      ...(this.#parts.length > 0 && { message: this.#parts }),
    }
    const isAnswered = this.#isMessage || this.#state !== undefined
    // If the agent created a task, a message is not its whole answer.
    const isWhole = this.#isMessage && this.#state === undefined
    const end = isWhole ? { status: 'ok' as const } : this.#ended
    return {
      ...(end ?? { status: 'unknown' }),
      ...(isAnswered && { result }),
      attributes: {
        task: this.#task,
        answerer: this.#answerer,
        ...(end === undefined && { state: this.#state }),
      },
    }
  }
}

/** Returns the parts of a message in A2A's JSON. */
export function partsOf({ parts }: Message): readonly Json[] {
  return parts.map((part) => asSent(Part.toJSON(part)))
}

function contentOf(artifact: Artifact): Json {
  const { artifactId: _id, extensions: _extensions, ...content } = Artifact.toJSON(artifact) as Json
  return { ...asSent(content), parts: artifact.parts.map((part) => asSent(Part.toJSON(part))) }
}

/** Returns the value as it is sent in JSON: without undefined members, and with dates as strings. */
function asSent(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value)) as Json
  } catch {
    return value as Json
  }
}

/** Returns the name of a state in A2A's text form: `input-required` for `TASK_STATE_INPUT_REQUIRED`. */
function stateName(state: TaskState | undefined): string | undefined {
  if (state === undefined) return undefined
  return taskStateToJSON(state).replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}
