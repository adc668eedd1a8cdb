import { ProofError } from '../../proof/error.ts'

export function contradiction(detail: string): ProofError {
  return new ProofError('columns_contradict_entries', detail)
}
