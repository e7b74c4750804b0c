"""wordveil inside other libraries. There is a module for each; import the one you need.

- `wordveil.adapters.pandas`: columns of a table;
- `wordveil.adapters.sklearn`: transformers for a scikit-learn pipeline, to veil texts and to read veiled ones;
- `wordveil.adapters.datasets`: Hugging Face datasets, in memory or streamed;
- `wordveil.adapters.presidio`: an operator that veils what Presidio finds;
- `wordveil.adapters.spacy`: the entities of a spaCy document, with offsets moved to the new text;
- `wordveil.adapters.langchain`: middleware that veils what a model is sent.
"""
