import { ProofError } from '../../error.ts'

/** Makes the error for members of a predicate that contradict each other. */
export function contradiction(detail: string): ProofError {
  return new ProofError('statement_predicate', detail)
}
