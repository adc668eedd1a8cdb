import { type LedgerRecord, Tallystick } from '../../sdk/index.ts'

/*
 * This file is only compiled and never run. Compiling fails if the compiler accepts a line that is marked as an error.
 */

interface Order {
  readonly item: string
  readonly quantity: number
}
interface Delivery {
  readonly delivered: number
}
type Types = { 'order/1': { payload: Order; evidence: Delivery }; 'note/2': { payload: { text: string } } }

declare const order: Order
declare const delivery: Delivery

/** Interfaces are valid payloads, although they have no index signature. */
export async function typed(tallystick: Tallystick<Types>): Promise<void> {
  const made = await tallystick.records.notarize({ type: 'note/2', payload: { text: 'seen' } })
  const text: string | undefined = made.payload?.text
  // @ts-expect-error: it may be erased
  made.payload.text
  // @ts-expect-error: it is not a number
  const wrong: number | undefined = made.payload?.text
  const whole: Omit<LedgerRecord, 'payload'> = made

  const { id } = await tallystick.records.create({ type: 'order/1', payload: order, gate: 'auto' })
  await tallystick.records.complete<'order/1'>(id, { evidence: delivery })
  // @ts-expect-error: that is no delivery
  await tallystick.records.complete<'order/1'>(id, { evidence: { arrived: true } })

  // @ts-expect-error: the quantity is missing
  await tallystick.records.create({ type: 'order/1', payload: { item: 'bolts' } })
  // @ts-expect-error: an order has no colour
  await tallystick.records.create({ type: 'order/1', payload: { item: 'bolts', quantity: 1, colour: 'red' } })
  // @ts-expect-error: there is no such type
  await tallystick.records.create({ type: 'order/2', payload: order })
  // @ts-expect-error: a payload is an object
  await tallystick.records.notarize({ payload: 'text' })

  for await (const { payload } of tallystick.records.list({ type: 'order/1' })) {
    const quantity: number | undefined = payload?.quantity
    // @ts-expect-error: an order has no colour
    void [quantity, payload?.colour]
  }

  await tallystick.batches.notarize([
    { type: 'note/2', payload: { text: 'one' } },
    { type: 'generic/1', payload: { anything: ['goes'] } },
    // @ts-expect-error: a note has a text
    { type: 'note/2', payload: { words: 1 } },
    // @ts-expect-error: the payload of another type
    { type: 'note/2', payload: order },
  ])
  void [text, wrong, whole]
}

/** Built-in types need no declaration. */
export async function builtIn(tallystick: Tallystick<Types>): Promise<void> {
  await tallystick.records.notarize({ payload: order })
  await tallystick.records.notarize({ type: 'generic/1', payload: { any: 1 } })
  const task = await tallystick.records.create({
    payload: { title: 'look' },
    deadline: '2030-01-01T00:00:00Z',
  })
  await tallystick.records.complete(task.id, { evidence: { seen: true } })
}

/** Without a declaration, any type with a version takes any object. */
export async function undeclared(tallystick: Tallystick): Promise<void> {
  const made = await tallystick.records.notarize({ type: 'order/1', payload: order })
  const payload: { [name: string]: unknown } | null = made.payload
  await tallystick.records.create({ type: 'order/7', payload: { any: 1 } })
  await tallystick.records.complete(made.id, { evidence: delivery })
  // @ts-expect-error: a type has a version
  await tallystick.records.notarize({ type: 'order', payload: order })
  void payload
}

/** undefined is the same as an omitted argument. */
export async function notGiven(tallystick: Tallystick, type: string | undefined): Promise<void> {
  for await (const { id } of tallystick.records.list({ type, limit: undefined })) void id
  await tallystick.records.create({ payload: order, performer: undefined, deadline: undefined })
}

export function declared(): void {
  new Tallystick<Types>()
  // @ts-expect-error: a payload is an object
  new Tallystick<{ 'order/1': { payload: string } }>()
  // @ts-expect-error: evidence without a payload
  new Tallystick<{ 'order/1': { evidence: Delivery } }>()
}
