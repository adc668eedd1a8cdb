import type { Config } from '../config.ts'

/**
 * Settings that `npm start` has decided on; the worker's process has all others from its environment. Keys and passwords come
 * this way only: the command line and the environment of a process are shown by /proc.
 */
export type WorkerSettings = Pick<
  Config,
  'dataDir' | 'workerUrl' | 'masterKey' | 'previousMasterKey' | 'threads'
> & {
  /** The password stands in `workerUrl`, whatever the environment says of others. */
  readonly isPasswordInUrl: boolean
}

export type ToWorker =
  | { readonly type: 'start'; readonly settings: WorkerSettings }
  | { readonly type: 'metrics' }
  | { readonly type: 'stop' }

export type FromWorker =
  | { readonly type: 'ready' }
  /** It cannot start, and ends. */
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'metrics'; readonly text: string }
