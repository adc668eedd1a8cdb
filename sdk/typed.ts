import type { LedgerRecord } from './generated/api.ts'
import type { BuiltInTypes } from './generated/built-in-types.ts'

/**
 * Maps each record type to the TypeScript types of its payload and evidence.
 *
 *     new Tallystick<{ 'order/1': { payload: Order; evidence: Delivery } }>()
 *
 * These types are only for the compiler. The server checks payloads against the registered schema in any case.
 */
export type TypeMap = { readonly [name: string]: { readonly payload: object; readonly evidence?: object } }

/** Default type map. It permits any payload. */
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

/**
 * A record whose payload has the type `Payload`, or is null after erasure. If `Payload` permits any object, the payload
 * has the type of `LedgerRecord`.
 */
export type RecordOf<Payload extends object> = object extends Payload
  ? LedgerRecord
  : Omit<LedgerRecord, 'payload'> & { payload: Payload | null }
