import type { RecordType } from '../../ledgers/types/built-in.ts'
import { type Judgement, judge } from '../../ledgers/types/rules/judge.ts'
import { parseTolerances } from '../../ledgers/types/rules/tolerances.ts'
import type { TypeRegistry } from '../../ledgers/types/type-registry.ts'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { COMPLETION_TYPE_WAIT_MS_MAX } from '../limits.ts'
import type { JudgedDocuments, SignedCompletion } from './verify-completion.ts'

type JudgeDeps = { readonly types: TypeRegistry; readonly typeWaitMsMax?: number }

/**
 * Judges a completion by the rules of the record's type, with the tolerances of the record. Throws ProofError if the
 * type's digest differs from the digest with which the record was created.
 */
export async function judgeCompletion(
  deps: JudgeDeps,
  ledgerId: Uuid,
  { ledger, terms }: SignedCompletion,
  documents: JudgedDocuments,
): Promise<Judgement> {
  const type = await findType(deps, { ledger, ledgerId }, terms.type)
  if (type?.digest !== terms.typeDigest)
    throw new ProofError(
      'type_unknown',
      `the type ${terms.type} has the digest ${type?.digest} in the database, but ${terms.typeDigest} was signed`,
    )
  const tolerances = terms.tolerances && parseTolerances(type.rules, terms.tolerances)
  return judge(type.rules, { ...documents, tolerances })
}

/**
 * Finds a type. Waits only for a limited time: if the ledger has used up its share of compile time, compiling is
 * delayed, and the whole batch would have to wait.
 */
function findType(
  { types, typeWaitMsMax = COMPLETION_TYPE_WAIT_MS_MAX }: JudgeDeps,
  ledger: { readonly ledger: string; readonly ledgerId: Uuid },
  name: string,
): Promise<RecordType | null> {
  let timer: NodeJS.Timeout
  const late = new Promise<never>((_, reject) => {
    const error = () =>
      new Error(`the type ${name} is not compiled yet: its ledger has used up its share of time`)
    timer = setTimeout(() => reject(error()), typeWaitMsMax)
  })
  return Promise.race([types.find(ledger, name), late]).finally(() => clearTimeout(timer))
}
