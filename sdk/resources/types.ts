import { UsageError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

export type TypesQuery = Omit<api.GetTypesQuery, 'cursor'>
export type TypeDefinition = api.PostTypesBody
export type TypeSummary = api.GetTypesAnswer['data'][number]
/** Documents to check in a preview. */
export type Documents = api.PostTypesByNameByVersionPreviewBody
export type Preview = api.PostTypesByNameByVersionPreviewAnswer

/** Record types: schemas of records, and rules by which deliveries are checked. */
export class RecordTypes {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Registers a type for good: `POST /v1/types`. If the same definition is registered already, returns the existing
   * type.
   */
  register(definition: TypeDefinition, options?: WriteOptions): Promise<api.RecordType> {
    return this.#http.json(operations.postTypes, { body: definition, options })
  }

  /** Lists all types in the order of their names, including the built-in types: `GET /v1/types`. */
  list(query: TypesQuery = {}, options?: CallOptions): Listing<TypeSummary> {
    return this.#http.list(operations.getTypes, { query, options })
  }

  /**
   * Returns a type, such as `get('order/1')`: `GET /v1/types/{name}/{version}`. Throws UsageError if the text does
   * not have the form name/version.
   */
  async get(type: string, options?: CallOptions): Promise<api.RecordType> {
    return this.#http.json(operations.getTypesByNameByVersion, { params: splitType(type), options })
  }

  /** Checks a payload or evidence against the type, and writes nothing: `POST /v1/types/{name}/{version}/preview`. */
  async preview(type: string, documents: Documents, options?: CallOptions): Promise<Preview> {
    return this.#http.json(operations.postTypesByNameByVersionPreview, {
      params: splitType(type),
      body: documents,
      options,
    })
  }

  /** Like `preview`, but for a definition that is not registered: `POST /v1/types/preview`. */
  previewDefinition(
    definition: TypeDefinition,
    documents: Documents = {},
    options?: CallOptions,
  ): Promise<Preview> {
    return this.#http.json(operations.postTypesPreview, { body: { ...definition, ...documents }, options })
  }
}

function splitType(type: string): { name: string; version: string } {
  const [name, version, ...more] = type.split('/')
  if (!name || !version || more.length > 0)
    throw new UsageError(`${JSON.stringify(type)} is not a type: give a name and a version, such as order/1`)
  return { name, version }
}
