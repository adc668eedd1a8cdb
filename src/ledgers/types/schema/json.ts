export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject

export type JsonObject = { readonly [name: string]: JsonValue }

/**
 * Returns a text that is the same for equal values, even if their members are in a different order (JSON Schema Core,
 * section 4.2.2). A hostile schema can cause the same value to be rendered at every depth. So this function uses loops
 * and concatenation, because `map` and `join` took four times as long.
 */
export function equalityText(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return `${value}`
  return Array.isArray(value) ? textOfArray(value) : textOfObject(value as JsonObject)
}

function textOfArray(array: readonly JsonValue[]): string {
  let text = '['
  for (let i = 0; i < array.length; i++)
    text += i === 0 ? equalityText(array[i]!) : `,${equalityText(array[i]!)}`
  return `${text}]`
}

function textOfObject(object: JsonObject): string {
  let text = '{'
  for (const name of Object.keys(object).sort())
    text += `${JSON.stringify(name)}:${equalityText(object[name]!)},`
  return `${text}}`
}
