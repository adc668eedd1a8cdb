import { onlyArgument, parseCount } from './arguments.ts'
import { UsageError } from './run.ts'

export const ENTRY_OPTIONS = {
  seq: { type: 'string' },
  size: { type: 'string' },
  cosignatures: { type: 'string' },
  out: { type: 'string', short: 'o' },
} as const

/** Maximum number of witnesses that a deployment can have. */
const COSIGNATURES_MAX = 16

/**
 * Retries until a checkpoint covers the entry. The delay doubles from 0.1 s to 5 s; all delays together take about
 * half a minute.
 */
export const UNTIL_COVERED = { retriesMax: 10 }

type EntryArgument = { readonly size: number | undefined; readonly cosignatures: number | undefined } & (
  | { readonly record: string; readonly seq: number | undefined }
  | { readonly record: null; readonly seq: number }
)

/** Parses `RECORD [--seq SEQ]`, or `SEQ`. Throws UsageError for any other arguments. */
export function parseEntryArgument(
  command: string,
  positionals: readonly string[],
  values: {
    readonly seq?: string | undefined
    readonly size?: string | undefined
    readonly cosignatures?: string | undefined
  },
): EntryArgument {
  const subject = onlyArgument(positionals, `${command} RECORD, or SEQ`)
  const isSeq = /^\d+$/.test(subject)
  if (isSeq && values.seq !== undefined) throw new UsageError('--seq can only be used with RECORD')
  const size = parseCount(values.size, '--size')
  const cosignatures = parseCount(values.cosignatures, '--cosignatures', { max: COSIGNATURES_MAX })
  if (size !== undefined && cosignatures !== undefined)
    throw new UsageError('use --size or --cosignatures, not both')
  if (isSeq) return { record: null, seq: parseCount(subject, 'SEQ', { min: 0 })!, size, cosignatures }
  return { record: subject, seq: parseCount(values.seq, '--seq', { min: 0 }), size, cosignatures }
}
