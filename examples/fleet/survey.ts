import type { TypeDefinition, TypeMap } from '@tallystick/sdk'

/*
 * Types of the fleet's work, which is surveys of prices. The terms of a survey are its minimum number of prices and its
 * maximum cost.
 */

type Money = { readonly amount: string; readonly currency: string }
export type Survey = { readonly topic: string; readonly prices: number; readonly budget: Money }
export type Delivery = { readonly prices: number; readonly cost: Money; readonly sheet: string }

/** Payloads and evidence of the registered types, for the compiler. */
export interface FleetTypes extends TypeMap {
  readonly 'survey/1': { readonly payload: Survey; readonly evidence: Delivery }
}

const MONEY = {
  type: 'object',
  properties: { amount: { type: 'string' }, currency: { type: 'string' } },
  required: ['amount', 'currency'],
  additionalProperties: false,
}

/**
 * Definition of the type for the server. The server checks every payload and delivery against the schemas, and compares
 * the two by the rules.
 */
export const SURVEY: TypeDefinition = {
  name: 'survey',
  version: 1,
  payloadSchema: {
    type: 'object',
    properties: { topic: { type: 'string' }, prices: { type: 'integer' }, budget: MONEY },
    required: ['topic', 'prices', 'budget'],
  },
  evidenceSchema: {
    type: 'object',
    properties: { prices: { type: 'integer' }, cost: MONEY, sheet: { type: 'string' } },
    required: ['prices', 'cost', 'sheet'],
  },
  rules: [
    { id: 'enough', op: 'atLeast', expected: '/prices', actual: '/prices' },
    { id: 'in-budget', op: 'atMost', expected: '/budget', actual: '/cost' },
  ],
}

export const euros = (amount: number): Money => ({ amount: amount.toFixed(2), currency: 'EUR' })
