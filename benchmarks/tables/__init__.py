"""Teams on tables: the default beside plain systems, with what each promised and kept, over ten splits."""
