import type { LedgerRecord } from './generated/api.ts'
import type { BuiltInTypes } from './generated/built-in-types.ts'

/**
 * Contents of records of each type, for the compiler: `new Tallystick<{ 'order/1': { payload: Order; evidence: Delivery } }>()`.
 * The server checks payloads by the registered schema in any case.
 */
export type TypeMap = { readonly [name: string]: { readonly payload: object; readonly evidence?: object } }

/** Where no types are given: any. */
export type AnyTypes = {
  readonly [name: `${string}/${number}`]: { readonly payload: object; readonly evidence?: object }
}

type All<Types extends TypeMap> = Types & BuiltInTypes

export type TypeName<Types extends TypeMap> = keyof All<Types> & string
export type PayloadOf<Types extends TypeMap, Name extends TypeName<Types>> = All<Types>[Name]['payload']
export type EvidenceOf<Types extends TypeMap, Name extends TypeName<Types>> = All<Types>[Name] extends {
  readonly evidence?: infer Evidence extends object
}
  ? Evidence
  : object

/** A record whose payload is known: null once it is erased. A payload that may be any object is typed as the server describes it. */
export type RecordOf<Payload extends object> = object extends Payload
  ? LedgerRecord
  : Omit<LedgerRecord, 'payload'> & { payload: Payload | null }
