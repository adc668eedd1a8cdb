import type { Config } from '../config.ts'

/**
 * Settings that `npm start` has decided; the worker reads all others from its environment. Keys and passwords are
 * sent only by message, because /proc shows a process's command line and environment.
 */
export type WorkerSettings = Pick<
  Config,
  'dataDir' | 'workerUrl' | 'masterKey' | 'previousMasterKey' | 'threads'
> & {
  /** True if `workerUrl` contains the password. Password settings of the environment are then ignored. */
  readonly isPasswordInUrl: boolean
}

export type ToWorker =
  | { readonly type: 'start'; readonly settings: WorkerSettings }
  | { readonly type: 'metrics' }
  | { readonly type: 'stop' }

export type FromWorker =
  | { readonly type: 'ready' }
  /** The worker cannot start, and ends after this message. */
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'metrics'; readonly text: string }
