import type { Config } from '../config.ts'

/**
 * Settings that `npm start` has decided. The worker reads all other settings from its environment. Keys and passwords
 * are sent only by message, because /proc shows a process's command line and environment.
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
  /** Sent if the worker cannot start. The worker ends after this message. */
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'metrics'; readonly text: string }
