import { ProofError } from '../src/proof/error.ts'
import { parseWitnessPolicy, type WitnessPolicy } from '../src/proof/tree/cosignature.ts'
import { loadProviders } from '../src/verify/providers.ts'
import { parseCount } from './arguments.ts'
import { UsageError } from './run.ts'

export const WITNESS_OPTIONS = {
  witness: { type: 'string', multiple: true },
  'witnesses-min': { type: 'string' },
} as const

type WitnessValues = {
  readonly witness?: readonly string[] | undefined
  readonly 'witnesses-min'?: string | undefined
}

/** Parses the options. Returns undefined if no witness is named. Throws UsageError for invalid options. */
export async function parseWitnessOptions(values: WitnessValues): Promise<WitnessPolicy | undefined> {
  const { witness: vkeys = [] } = values
  const min = parseCount(values['witnesses-min'], '--witnesses-min', { max: Math.max(1, vkeys.length) })
  if (vkeys.length === 0) {
    if (min !== undefined)
      throw new UsageError(
        '--witnesses-min is the number of witnesses that must have cosigned: name the witnesses with --witness',
      )
    return undefined
  }
  const { sha256 } = await loadProviders()
  try {
    return parseWitnessPolicy(vkeys, min, sha256)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new UsageError(`--witness takes the verifier key of a witness (of the type 04): ${error.detail}`)
  }
}
